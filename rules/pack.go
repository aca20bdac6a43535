package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"
)

// MaxPackBytes bounds the source of a pack. Its source is kept in one event.
const MaxPackBytes = 256 << 10

// Phases of a rule.
const (
	PhaseGate  = "gate"
	PhaseJudge = "judge"
)

// Effects of a rule. The gate knows allow and deny, the judge the others.
const (
	EffectAllow        = "allow"
	EffectDeny         = "deny"
	EffectRequire      = "require"
	EffectFail         = "fail"
	EffectInconclusive = "inconclusive"
)

// A Pack is one compiled file of rules. It is immutable.
type Pack struct {
	Name    string
	Version string
	Digest  string // over rules and params; messages and tests are outside
	Source  string
	Rules   []*Rule

	file         string // where it was read, for messages
	variables    []*variable
	constants    []ref.Val // of variables, nil for those that depend on facts
	variableType *structType
	params       *object
}

// A Rule is one rule of a pack.
type Rule struct {
	ID     string
	Phase  string
	Effect string
	Kinds  []string // of claims it applies to; all when empty
	Reason string   // stable machine code
	Digest string
	Tests  []Test
	Line   int // in the file
	Col    int

	applies *expression // may be nil
	when    *expression
	message *expression // may be nil
}

// A Test is one example beside a rule.
type Test struct {
	Name string
	Want string // match, no-match, skipped, error
	line int
	yaml map[string]any
}

// A text is a scalar of the file with its place.
type text struct {
	Text      string
	Line, Col int
	style     yaml.Style
}

// UnmarshalYAML keeps the place of the text.
func (t *text) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return fmt.Errorf("line %d: want a text", n.Line)
	}
	t.Text, t.Line, t.Col, t.style = n.Value, n.Line, n.Column, n.Style
	switch n.Style {
	case yaml.LiteralStyle, yaml.FoldedStyle:
		t.Line++ // the text begins on the line after the indicator
		t.Col = 1
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		t.Col++
	}
	return nil
}

// packFile is the form of a pack file.
type packFile struct {
	Pack      text           `yaml:"pack"`
	Version   text           `yaml:"version"`
	Facts     text           `yaml:"facts"`
	Params    yaml.Node      `yaml:"params"`
	Variables []variableFile `yaml:"variables"`
	Rules     []ruleFile     `yaml:"rules"`
}

type variableFile struct {
	Name text `yaml:"name"`
	Expr text `yaml:"expr"`
}

type ruleFile struct {
	ID      text       `yaml:"id"`
	Phase   text       `yaml:"phase"`
	Effect  text       `yaml:"effect"`
	Kinds   []string   `yaml:"kinds"`
	Applies text       `yaml:"applies"`
	When    text       `yaml:"when"`
	Reason  text       `yaml:"reason"`
	Message text       `yaml:"message"`
	Tests   []testFile `yaml:"tests"`
}

type testFile struct {
	Name  text      `yaml:"name"`
	Facts yaml.Node `yaml:"facts"`
	Want  text      `yaml:"want"`
}

// ParsePack reads and compiles a pack. file is used in messages only. The error is a [Diagnostics] when the text is at
// fault; a pack with any fault is not loaded at all.
func ParsePack(file string, src []byte) (*Pack, error) {
	d := &diagnoser{file: file}
	f, err := decodePack(d, src)
	if err != nil {
		return nil, err
	}
	p := &Pack{Name: f.Pack.Text, Version: f.Version.Text, Source: string(src), file: file}
	checkHeader(d, f)
	c := newCompiler(d, p)
	c.compileParams(&f.Params)
	c.compileVariables(f.Variables)
	c.compileRules(f.Rules)
	if c.cost > maxPackCost {
		d.add(1, 1, "", "the rules of the pack together can cost too much: %d units for the largest facts, the limit is %d", c.cost, maxPackCost)
	}
	if len(d.list) > 0 {
		return nil, d.list
	}
	p.Digest, err = packDigest(p, &f.Params)
	return p, err
}

func decodePack(d *diagnoser, src []byte) (packFile, error) {
	var f packFile
	if len(src) > MaxPackBytes {
		return f, d.fail(1, 1, "the pack has %d bytes, the limit is %d", len(src), MaxPackBytes)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(src, &root); err != nil {
		return f, d.yaml(err)
	}
	refuseAliases(d, &root)
	dec := yaml.NewDecoder(bytes.NewReader(src))
	dec.KnownFields(true)
	switch err := dec.Decode(&f); {
	case errors.Is(err, io.EOF):
		return f, d.fail(1, 1, "the file is empty")
	case err != nil:
		return f, d.yaml(err)
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return f, d.fail(1, 1, "one file is one pack: there is a second document in it")
	}
	return f, nil
}

// refuseAliases: anchors make a rule read otherwise than it looks, and can blow up a small file.
func refuseAliases(d *diagnoser, n *yaml.Node) {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		d.add(n.Line, n.Column, "", "anchors and aliases are not allowed")
		return
	}
	for _, c := range n.Content {
		refuseAliases(d, c)
	}
}

var (
	namePattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]*$`)
	wordPattern   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	semverPattern = regexp.MustCompile(`^\d+\.\d+\.\d+`)
)

func checkHeader(d *diagnoser, f packFile) {
	if !namePattern.MatchString(f.Pack.Text) {
		d.add(max(f.Pack.Line, 1), f.Pack.Col, "", "pack: %q is no name such as team/rules", f.Pack.Text)
	}
	if !semverPattern.MatchString(f.Version.Text) {
		d.add(max(f.Version.Line, 1), f.Version.Col, "", "version: %q is no version such as 1.0.0", f.Version.Text)
	}
	if f.Facts.Text != FactsSchema {
		d.add(max(f.Facts.Line, 1), f.Facts.Col, "", "facts: %q, this is a build for %s", f.Facts.Text, FactsSchema)
	}
	if len(f.Rules) == 0 {
		d.add(1, 1, "", "the pack has no rules")
	}
}

// Severities of a [Diagnostic].
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// A Diagnostic is one fault in a pack.
type Diagnostic struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Col      int    `json:"col"`
	Severity string `json:"severity"` // error; warning: the pack can be used
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message"`
}

func (d Diagnostic) String() string {
	rule := ""
	if d.Rule != "" {
		rule = d.Rule + ": "
	}
	severity := ""
	if d.Severity == SeverityWarning {
		severity = "warning: "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s%s", d.File, d.Line, d.Col, severity, rule, d.Message)
}

// Diagnostics are the faults of a pack, in the order of the file.
type Diagnostics []Diagnostic

func (d Diagnostics) Error() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Errors reports whether one of them is more than a warning.
func (d Diagnostics) Errors() bool {
	return slices.ContainsFunc(d, func(one Diagnostic) bool { return one.Severity != SeverityWarning })
}

// Warnings returns them as warnings.
func (d Diagnostics) Warnings() Diagnostics {
	out := slices.Clone(d)
	for i := range out {
		out[i].Severity = SeverityWarning
	}
	return out
}

type diagnoser struct {
	file string
	list Diagnostics
}

func (d *diagnoser) add(line, col int, rule, format string, args ...any) {
	d.list = append(d.list, Diagnostic{
		File: d.file, Line: line, Col: max(col, 1), Severity: SeverityError, Rule: rule, Message: fmt.Sprintf(format, args...),
	})
}

func (d *diagnoser) fail(line, col int, format string, args ...any) error {
	d.add(line, col, "", format, args...)
	return d.list
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)`)

// yaml turns the library's errors, one or several in a text, into diagnostics.
func (d *diagnoser) yaml(err error) error {
	var te *yaml.TypeError
	msgs := []string{err.Error()}
	if errors.As(err, &te) {
		msgs = te.Errors
	}
	for _, m := range msgs {
		line := 1
		if g := yamlLine.FindStringSubmatch(m); g != nil {
			_, _ = fmt.Sscan(g[1], &line)
			m = g[2]
		}
		d.add(line, 1, "", "%s", strings.ReplaceAll(m, " in type rules.", " in "))
	}
	return d.list
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalDigest hashes v's JSON, whose object keys Go sorts.
func canonicalDigest(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return digestOf(b), nil
}

func packDigest(p *Pack, params *yaml.Node) (string, error) {
	digests := make([]string, len(p.Rules))
	for i, r := range p.Rules {
		digests[i] = r.Digest
	}
	slices.Sort(digests)
	plain := map[string]any{}
	if params.Kind == yaml.MappingNode {
		if err := params.Decode(&plain); err != nil {
			return "", err
		}
	}
	return canonicalDigest(map[string]any{"pack": p.Name, "rules": digests, "params": plain})
}

// variable returns the variable of the given name, which is there: CEL has checked that.
func (p *Pack) variable(name string) *variable { return p.variables[p.variableType.byName[name].index] }

// Rule returns the rule with the given id, nil if there is none.
func (p *Pack) Rule(id string) *Rule {
	for _, r := range p.Rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Tightens returns nil if no rule of the pack can allow, excuse or hide anything: such a pack may come from where an agent
// can write. The error is a [Diagnostics].
func (p *Pack) Tightens() error {
	d := &diagnoser{file: p.file}
	for _, r := range p.Rules {
		if r.Effect == EffectAllow || r.Effect == EffectInconclusive {
			d.add(r.Line, r.Col, r.ID, "effect %s: a pack of the repository can only tighten (deny, require, fail)", r.Effect)
		}
	}
	if len(d.list) > 0 {
		return d.list
	}
	return nil
}
