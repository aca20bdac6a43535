package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/dalkkak/dkgraph/events"
	"github.com/dalkkak/dkgraph/rules/shell"
)

// How a claim is checked.
const (
	CheckCommand = "command"
	CheckFile    = "file"
)

// Bounds on a regular expression of a claim, in bytes and in steps of its program: it is hostile input and cannot be
// interrupted.
const (
	maxPattern = 1 << 10
	maxProgram = 500
)

// maxOutputs bounds how many texts a claim expects: rules compare them with what was found, each with each.
const maxOutputs = 64

// An Expect is what a claim says will be found. What is not understood is never guessed: such a claim is unrunnable.
type Expect struct {
	Understood  bool           `json:"understood"`
	Problem     string         `json:"problem,omitempty"` // why it is not
	Exit        *int64         `json:"exit,omitempty"`
	Output      []OutputExpect `json:"output,omitempty"`
	File        *FileExpect    `json:"file,omitempty"`
	TestsPassed *int64         `json:"tests_passed,omitempty"` // exactly so many
	MinTests    *int64         `json:"min_tests,omitempty"`
}

// An OutputExpect is one expectation about output. What is stdout_contains, stderr_contains, output_contains,
// output_excludes or output_matches (RE2, line by line).
type OutputExpect struct {
	What string `json:"what"`
	Want string `json:"want"`
}

// A FileExpect is what a claim says of one path.
type FileExpect struct {
	Path     string `json:"path"`
	Exists   *bool  `json:"exists,omitempty"`
	Contains string `json:"contains,omitempty"`
	Matches  string `json:"matches,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	MinBytes *int64 `json:"min_bytes,omitempty"`
	Type     string `json:"type,omitempty"` // file, dir; "" is either
	Place    string `json:"place"`          // where the path leads, by its text: see shell.Place

	named bool // the path stands by itself, with no command around it
}

// expectObject is the object form of `expect` in a marker.
type expectObject struct {
	Exit           *int64  `json:"exit"`
	StdoutContains texts   `json:"stdout_contains"`
	StderrContains texts   `json:"stderr_contains"`
	OutputContains texts   `json:"output_contains"`
	OutputExcludes texts   `json:"output_excludes"`
	OutputMatches  texts   `json:"output_matches"`
	File           string  `json:"file"`
	Exists         *bool   `json:"exists"`
	Contains       *string `json:"contains"`
	Matches        *string `json:"matches"`
	SHA256         string  `json:"sha256"`
	MinBytes       *int64  `json:"min_bytes"`
	TestsPassed    *int64  `json:"tests_passed"`
	MinTests       *int64  `json:"min_tests"`
}

// texts is a string or a list of strings.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// parseExpect reads the expectation of a claim.
func parseExpect(c events.Claim) Expect {
	e, err := readExpect(c.Expect, c.Kind)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return Expect{Problem: err.Error()}
	}
	e.Understood = true
	return e
}

// defaultExit asks for success where a command is run and no exit status is named: whatever else a claim says of its
// output or of a file, it does not say that the command failed.
func (f *Facts) defaultExit() {
	if e := &f.Claim.Expect; e.Understood && e.Exit == nil && f.Claim.Check == CheckCommand {
		zero := int64(0)
		e.Exit = &zero
	}
}

func (e Expect) empty() bool {
	return e.Exit == nil && len(e.Output) == 0 && e.File == nil && e.TestsPassed == nil && e.MinTests == nil
}

func readExpect(raw json.RawMessage, kind string) (Expect, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return Expect{}, nil
	case raw[0] == '{':
		return readExpectObject(raw)
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return Expect{}, err
		}
		return readExpectText(s, kind)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return Expect{}, fmt.Errorf("%.40s is neither an exit status, nor a text, nor an object", raw)
	}
	return Expect{Exit: &n}, nil
}

// readExpectText reads the short form. For kind file it is about the file, otherwise about the output.
func readExpectText(s, kind string) (Expect, error) {
	s = strings.TrimSpace(s)
	head, rest, colon := strings.Cut(s, ":")
	rest = strings.TrimSpace(rest)
	exists := s == "exists"
	switch {
	case s == "":
		return Expect{}, nil
	case s == "exists", s == "absent":
		return Expect{File: &FileExpect{Exists: &exists}}, nil
	case colon && rest != "" && head == "contains" && kind == CheckFile:
		return Expect{File: &FileExpect{Contains: rest}}, nil
	case colon && rest != "" && head == "matches" && kind == CheckFile:
		return Expect{File: &FileExpect{Matches: rest}}, nil
	case colon && rest != "" && (head == "contains" || head == "matches"):
		return Expect{Output: []OutputExpect{{What: "output_" + head, Want: rest}}}, nil
	}
	number := strings.TrimSpace(strings.TrimPrefix(s, "exit"))
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return Expect{Exit: &n}, nil
	}
	return Expect{}, fmt.Errorf("%q is none of: exit N, exists, absent, contains: TEXT, matches: RE2", s)
}

func readExpectObject(raw json.RawMessage) (Expect, error) {
	var o expectObject
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return Expect{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	e := Expect{Exit: o.Exit, TestsPassed: o.TestsPassed, MinTests: o.MinTests}
	outputs := map[string]texts{
		"stdout_contains": o.StdoutContains, "stderr_contains": o.StderrContains, "output_contains": o.OutputContains,
		"output_excludes": o.OutputExcludes, "output_matches": o.OutputMatches,
	}
	for _, what := range slices.Sorted(maps.Keys(outputs)) {
		for _, want := range outputs[what] {
			e.Output = append(e.Output, OutputExpect{What: what, Want: want})
		}
	}
	f := FileExpect{Path: o.File, Exists: o.Exists, SHA256: strings.ToLower(o.SHA256), MinBytes: o.MinBytes}
	if o.Contains != nil {
		f.Contains = *o.Contains
	}
	if o.Matches != nil {
		f.Matches = *o.Matches
	}
	if f != (FileExpect{}) {
		e.File = &f
	}
	if e.empty() {
		return e, errors.New("the object says nothing")
	}
	return e, nil
}

// check refuses expectations that could not be tested: empty texts match anything, bad patterns nothing.
func (e Expect) check() error {
	if len(e.Output) > maxOutputs {
		return fmt.Errorf("it names %d texts, the limit is %d", len(e.Output), maxOutputs)
	}
	for _, o := range e.Output {
		if o.Want == "" {
			return fmt.Errorf("%s is empty", o.What)
		}
		if o.What == "output_matches" {
			if err := checkPattern(o.Want); err != nil {
				return err
			}
		}
	}
	if e.File == nil {
		return nil
	}
	if s := e.File.SHA256; s != "" && !sha256Pattern.MatchString(s) {
		return fmt.Errorf("sha256 %q has not 64 hexadecimal digits", s)
	}
	return checkPattern(e.File.Matches)
}

var sha256Pattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

func checkPattern(p string) error {
	if len(p) > maxPattern {
		return fmt.Errorf("the pattern has %d bytes, the limit is %d", len(p), maxPattern)
	}
	re, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return err
	}
	if len(prog.Inst) > maxProgram {
		return fmt.Errorf("the pattern is too costly: %d steps, the limit is %d", len(prog.Inst), maxProgram)
	}
	return nil
}

// asFileCheck finds the path of a claim about a file and, where the command does no more than look at that path, lets
// the store look itself: a file claim rests on the file system, not on a command's word. Where a path or nothing stands in
// place of a command, there is no command to refuse, however little of the rest is understood.
func (f *Facts) asFileCheck() {
	e := &f.Claim.Expect
	if f.Claim.Kind != CheckFile && e.File == nil {
		return
	}
	look, pure := f.pathOf()
	alone := e.asksNoCommand()
	if look.named {
		f.runNothing()
		if e.Understood && !alone {
			*e = Expect{Problem: "a path has no exit status, no output and no tests"}
		}
	}
	if !e.Understood {
		return
	}
	pure = pure && alone
	if e.File == nil {
		if !pure {
			return // a command such as grep; its status decides
		}
		e.File = &FileExpect{}
	}
	if e.File.Path == "" {
		e.File.Path = look.Path
	}
	if e.File.Path == "" {
		*e = Expect{Problem: "it is about a file, and no path is named"}
		return
	}
	e.File.adopt(look)
	e.File.Place = shell.Place(f.root, e.File.Path)
	if pure {
		f.runNothing()
		e.Exit = nil
	}
}

// asksNoCommand reports whether nothing is expected that only a command has: a look at a path answers for itself.
func (e Expect) asksNoCommand() bool {
	return len(e.Output) == 0 && (e.Exit == nil || *e.Exit == 0) && e.TestsPassed == nil && e.MinTests == nil
}

// runNothing makes the claim one that the store looks into itself, and drops what was made of its command.
func (f *Facts) runNothing() {
	f.Claim.Check = CheckFile
	f.Command.Calls, f.Command.Programs, f.Command.Plan, f.Command.Refusals = nil, nil, nil, nil
	f.Command.Parsed, f.Command.Vacuous, f.Command.MasksExit = true, false, false
}

// adopt fills what f leaves open from the command that named the path, and asks for existence if nothing else is asked.
func (f *FileExpect) adopt(look FileExpect) {
	if f.Path == look.Path {
		if f.Exists == nil {
			f.Exists = look.Exists
		}
		if f.Type == "" {
			f.Type = look.Type
		}
		if f.MinBytes == nil {
			f.MinBytes = look.MinBytes
		}
	}
	if f.Exists == nil {
		yes := true
		f.Exists = &yes
	}
}

// pathOf reads the path out of `verify`: either it is a path itself, or a command that only looks at one. pure says that
// nothing needs to be run.
func (f *Facts) pathOf() (look FileExpect, pure bool) {
	verify := strings.TrimSpace(f.Claim.Verify)
	if verify == "" {
		return FileExpect{named: true}, true
	}
	if f.Claim.Kind == CheckFile && isBarePath(verify, f.Command.Calls) {
		return FileExpect{Path: verify, named: true}, true
	}
	c := f.Command
	if c.Parsed && len(c.Calls) == 1 && len(c.Calls[0].Redirs) == 0 && c.Plan != nil && c.Plan.Op == shell.OpRun {
		return lookOf(c.Calls[0].Argv)
	}
	return FileExpect{}, false
}

// lookOf understands `test -f PATH` and its kin.
func lookOf(argv []string) (FileExpect, bool) {
	if n := len(argv); n > 0 && argv[0] == "[" && argv[n-1] == "]" {
		argv = append([]string{"test"}, argv[1:n-1]...)
	}
	if strings.ContainsAny(strings.Join(argv, ""), "*?[") {
		return FileExpect{}, false // a pattern, not a path
	}
	exists := true
	if len(argv) == 4 && argv[0] == "test" && argv[1] == "!" {
		argv, exists = slices.Delete(slices.Clone(argv), 1, 2), false
	}
	if len(argv) == 3 && argv[0] == "test" {
		look := FileExpect{Path: argv[2], Exists: &exists}
		switch argv[1] {
		case "-e":
		case "-f":
			look.Type = "file"
		case "-d":
			look.Type = "dir"
		case "-s":
			one := int64(1)
			look.MinBytes = &one
		default:
			return FileExpect{}, false
		}
		return look, true
	}
	if len(argv) == 2 && slices.Contains([]string{"ls", "stat", "cat"}, argv[0]) && !strings.HasPrefix(argv[1], "-") {
		return FileExpect{Path: argv[1]}, true
	}
	return FileExpect{}, false
}

// isBarePath reports whether the verify of a file claim is a path and no command: one plain word that names no known
// program.
func isBarePath(verify string, calls []shell.Call) bool {
	if strings.ContainsAny(verify, " \t\n'\"`$&|;<>()*?[]{}!\\#~") {
		return false
	}
	return len(calls) != 1 || calls[0].Tool == "" || calls[0].PathKind != "bare"
}
