// Checks a whole export of a log with nothing but JSON, SHA-256 and Ed25519: node check-export.mjs FILE
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const sha = (...parts) => parts.reduce((h, p) => h.update(p), createHash('sha256')).digest();
const die = (why) => { console.error(why); process.exit(1); };
const lines = readFileSync(process.argv[2], 'utf8').split('\n');
if (lines.pop() !== '') die('the last line is not ended');
const end = JSON.parse(lines.pop()).export ?? die('there is no line that closes the export');
const genesis = JSON.parse(lines[0]).payload;
const raw = Buffer.from(genesis.public_key, 'base64');
const key = createPublicKey({ key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]), format: 'der', type: 'spki' });
let prev = '0'.repeat(64), stack = [];
lines.forEach((line, i) => {
  const e = JSON.parse(line), leaf = sha(Buffer.from([0]), line);
  if (e.seq !== i + 1 || e.prev !== prev) die(`event ${i + 1}: broken sequence or chain`);
  if (e.seal) {
    const payload = line.slice(line.indexOf('"payload":') + 10, line.lastIndexOf(',"seal":'));
    const signed = ['dkgraph seal v1', genesis.origin, e.kind, e.origin, e.seal.subject ?? '-', e.seal.ruleset ?? '-', sha(payload).toString('hex'), ''].join('\n');
    if (!verify(null, Buffer.from(signed), key, Buffer.from(e.seal.sig, 'base64'))) die(`event ${e.seq}: false seal`);
  } else if (/^(pack|rules|gate|run|receipt)\./.test(e.kind)) die(`event ${e.seq}: no seal`);
  prev = leaf.toString('hex');
  let node = { size: 1, hash: leaf };
  while (stack.at(-1)?.size === node.size) node = { size: 2 * node.size, hash: sha(Buffer.from([1]), stack.pop().hash, node.hash) };
  stack.push(node);
});
const root = stack.reduceRight((r, n) => (r ? sha(Buffer.from([1]), n.hash, r) : n.hash), null);
const [text, sig] = end.checkpoint.split('\n\n');
if (text !== [genesis.origin, lines.length, root.toString('base64')].join('\n')) die('the checkpoint is of another log');
if (!verify(null, Buffer.from(text + '\n'), key, Buffer.from(sig.trim().split(' ').pop(), 'base64').subarray(4))) die('false checkpoint');
console.log(`${lines.length} events, chain, seals, tree and checkpoint hold`);
