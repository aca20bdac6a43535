package rules

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// Facts are what rules read. Their JSON form is recorded with each gate decision, so that replay reads the same facts
// whatever the analyser makes of the text by then.
type Facts struct {
	Claim   ClaimFacts     `json:"claim"`   // the agent's words: never evidence
	Command shell.Analysis `json:"command"` // what the text of the command says; no calls when the store checks a file itself
	Run     *events.Run    `json:"run"`     // not recorded in the gate
	Files   []events.File  `json:"files"`   // what the store found at the claimed paths

	root string // absolute paths under it count as the repository's
}

// ClaimFacts are a claim as rules see it.
type ClaimFacts struct {
	ID     string   `json:"id"`
	Text   string   `json:"text"`
	Kind   string   `json:"kind"`
	Verify string   `json:"verify"`
	CWD    string   `json:"cwd"`
	About  []string `json:"about"`
	Check  string   `json:"check"` // command, or file: the store looks itself and runs nothing
	Expect Expect   `json:"expect"`
}

// NewFacts returns the facts that a claim alone gives: those of the gate. cwd is the folder where the claim was made, ""
// if it is not known; it is used as text, to understand absolute paths.
func NewFacts(c events.Claim, cwd string) Facts {
	c = validText(c)
	return newFacts(c, cwd, shell.AnalyseIn(cwd, c.Verify))
}

// A ScriptFile is what is known of one file that says what scripts are, see [shell.File].
type ScriptFile = shell.File

// ScriptOutside is the problem of a file that lies outside of what may be read.
const ScriptOutside = shell.ProblemOutside

// ReadScript gives one file of the project by its path relative to the folder of the command.
type ReadScript = func(path string) ScriptFile

// NewFactsWith is [NewFacts] with the files of the project, which say what the scripts are that the command runs. read
// is asked only for the few that matter.
func NewFactsWith(c events.Claim, cwd string, read ReadScript) Facts {
	c = validText(c)
	files := shell.Files{}
	a := shell.AnalyseWith(cwd, c.Verify, files)
	for len(a.Wanted()) > 0 { // each round asks for files that were not given yet, of which there is a bounded number
		for _, path := range a.Wanted() {
			files[path] = read(path)
		}
		a = shell.AnalyseWith(cwd, c.Verify, files)
	}
	return newFacts(c, cwd, a)
}

func newFacts(c events.Claim, cwd string, command shell.Analysis) Facts {
	f := Facts{Command: command, root: cwd, Claim: ClaimFacts{
		ID: c.ClaimID, Text: c.Text, Kind: c.Kind, Verify: c.Verify, CWD: c.CWD, About: c.About, Check: CheckCommand,
	}}
	f.Claim.Expect = parseExpect(c)
	f.asFileCheck()
	f.defaultExit()
	return f
}

// validText makes the texts of a claim valid UTF-8, which they are when they come from a log: invalid bytes have two forms
// in JSON, and facts have to read back the same.
func validText(c events.Claim) events.Claim {
	for _, s := range []*string{&c.ClaimID, &c.Text, &c.Kind, &c.Verify, &c.CWD} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	for i, s := range c.About {
		if !utf8.ValidString(s) {
			c.About = slices.Clone(c.About)
			c.About[i] = strings.ToValidUTF8(s, "\uFFFD")
		}
	}
	return c
}

// With returns the facts of the judge: f and what a run showed.
func (f Facts) With(run events.Run) Facts {
	f.Run = &run
	f.Files = run.Files
	return f
}

// Encode returns the recorded form of f and its digest.
func (f Facts) Encode() (json.RawMessage, string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return nil, "", err
	}
	raw := bytes.TrimSpace(b.Bytes())
	return raw, digestOf(raw), nil
}

// DecodeFacts reads the recorded form.
func DecodeFacts(raw json.RawMessage) (Facts, error) {
	var f Facts
	err := json.Unmarshal(raw, &f)
	return f, err
}

// A frame is one evaluation: the facts, the call that is looked at, and the variables worked out so far. It implements
// cel.Activation.
type frame struct {
	pack  *Pack
	facts *object
	call  ref.Val // nil outside a call
	vars  *object
}

func newFrame(p *Pack, facts *object) *frame {
	f := &frame{pack: p, facts: facts}
	f.vars = p.variableType.new()
	f.vars.frame = f
	copy(f.vars.vals, p.constants)
	return f
}

// lookAt makes the nth call, from 1, the one that rules see; 0 is the whole command.
func (f *frame) lookAt(n int) {
	var call ref.Val
	if calls := f.calls(); n > 0 && n <= len(calls) {
		call = calls[n-1]
	}
	f.look(call)
}

func factsObject(f *Facts) *object {
	o := factTypes()["dk.Facts"].new()
	o.native = reflect.ValueOf(f).Elem()
	return o
}

// calls returns the simple commands as CEL values.
func (f *frame) calls() []ref.Val {
	command, err := f.facts.field(f.facts.typ.byName["command"])
	if err != nil {
		return nil
	}
	o := command.(*object)
	list, err := o.field(o.typ.byName["calls"])
	if err != nil {
		return nil
	}
	return list.Value().([]ref.Val)
}

// look makes call the one that rules see, and forgets the variables that depend on it.
func (f *frame) look(call ref.Val) {
	f.call = call
	for i, v := range f.pack.variables {
		if v.expr.usesCall {
			f.vars.vals[i] = nil
		}
	}
}

// ResolveName implements cel.Activation.
func (f *frame) ResolveName(name string) (any, bool) {
	switch name {
	case "call":
		return f.call, f.call != nil
	case "params":
		return f.pack.params, true
	case "variables":
		return f.vars, true
	}
	fd, ok := f.facts.typ.byName[name]
	if !ok {
		return nil, false
	}
	v, err := f.facts.field(fd)
	if err != nil {
		return types.NewErr("%s", err), true
	}
	return v, true
}

// Parent implements cel.Activation.
func (f *frame) Parent() cel.Activation { return nil }

var _ cel.Activation = (*frame)(nil)
