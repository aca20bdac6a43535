// Package rules decides, from recorded facts alone, whether a claimed command may be re-run (the gate) and what its
// result says of the claim (the judge).
//
// The gate fails closed: text that is not understood, a rule that errs and a command that no rule allows are refused.
// The judge cannot verify by mistake: an error, a missing fact and evidence that proves nothing never give "verified".
//
// # Nouns
//
// A [Pack] is one YAML file of rules with their tests beside them. A [Ruleset] is the packs in force, in order. [Facts]
// are what the rules may read: typed, recorded, with no clock and no I/O behind them. A [Decision] is the gate's word, a
// [Judgement] the judge's.
//
//	set, err := rules.NewRuleset(rules.DefaultPacks()...)
//	facts := rules.NewFacts(claim, cwd)
//	decision := set.Gate(facts)
//	judgement := set.Judge(facts.With(run))
//
// # How rules combine
//
// Gate: every applicable rule is evaluated. Any deny that matches, any refusal of the shell analyser, any rule that errs
// → refuse. Otherwise every simple command in the text needs an allow of its own; without one it is refused: no_allow. A
// rule that reads `call` is evaluated once for each simple command, others once for the whole.
//
// Judge: an incomplete run is unrunnable, with the run's own reason. Then any rule of effect inconclusive that matches →
// unrunnable; any fail that matches or require that is false → failed; any rule that errs, or no require that applies →
// unrunnable. Only what is left is verified.
//
// The effect inconclusive is there because contrary evidence and no evidence are different things: a suite that did not
// find its tools, or that ran no test, does not show that the claim is false, and must not show that it is true. Only
// packs that the operator installs may use it, since it can hide a failure.
//
// # Modes and trust
//
// A rule in force has a mode: enforce decides, shadow is evaluated and recorded and never decides, off is not evaluated.
// Modes are not in the pack but in what puts it in force ([Active]), so that a roll-out changes no rule; the digest of a
// [Ruleset] covers both. A pack from where an agent can write is held to tightening: allow and inconclusive are refused,
// and a require of it that is met is no evidence.
//
// # Bounds
//
// A pack may be hostile. An evaluation cannot be stopped and a clock must not decide, so everything is bounded when a pack is
// loaded: see limits.go. What is left to run time is an error, and errors refuse.
//
// # CEL
//
// Each rule is one CEL program, and a second one that tracks its parts for explanations. cel-go is pinned at v0.31.0, the
// last version under its old module path, and kept behind this package. Known faults of that version are avoided on purpose: no runtime cost limit together with state tracking
// (the limit is silently ignored), no RegexProgramSizeLimit (it panics on {n}), no constant folding (it folds some
// comprehensions to null), no hashing of unparsed text (it drops parentheses).
//
// A Pack and a Ruleset are safe for concurrent use. Facts belong to one goroutine.
package rules

import "github.com/dalkkak/dkgraph/rules/shell"

// FactsSchema names the facts that packs are typed against.
const FactsSchema = "dk.facts/v1"

// Engine names everything besides the rules that a decision depends on. A change of it counts as a change of rules.
const Engine = "cel-go@v0.31.0 " + FactsSchema + " rules@2 " + shell.Version
