package shell

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// The files in tools/ are the tables: one file an ecosystem, decoded strictly, checked as a whole by [loadTables].
//
//	eco: go                       # of every tool in the file
//	sets: {build: "-race -p=v"}   # flags that several commands share
//	tools:
//	  - name: go                  # several names: tools that take the same words
//	    also: go1.26              # other names of the first
//	    style: go                 # how flags are written, see below
//	    flags: "-C=dir"           # of the tool itself, before the sub-command
//	    subs:
//	      test:                   # "mod verify" is a sub-sub-command, "test|t" two words for one
//	        class: check          # check, read, filter, print; see Call.Class
//	        use: [build]
//	        flags: "-run=v -exec=v!execute -coverprofile=write"
//	        args: "read..."       # roles of operands; the last may repeat; none given, none allowed
//	    harm: {network: "get, mod download"}   # sub-commands that are known and are harmful
//	    safe: ["go test ./..."]   # examples, compiled into tests
//	    denied: ["go test -exec rm ./..."]
//	harm: {delete: "rm rmdir"}    # whole programs that are known and are harmful
//
// A flag is NAME[=ROLE[?]][!EFFECT,…][@CLASS]. NAME is spelled as people write it; `-[abc]` stands for -a -b -c, `-#` for
// -20, a trailing * for any rest (`-D*`). With ROLE it takes a value; ROLE? only an attached one. ROLE may be a closed list,
// [a|b|c*]. EFFECT is what the flag does beyond the command's class, CLASS is what the command is when the flag is given
// (`--version@read`: nothing is checked then).
//
// Roles: v (opaque), read, write, exec (names code), dir, stat (looks, does not open), glob, url, rev (git revision or
// path), target (project script by name), name (of a part of the project: it must not promise a change), script (file that
// is run), arg (argument of such), prop (key=value that cannot name code), inner (another command starts here), and small
// languages that have their own readers: sed, awk, jq, header, format, makevar.
//
// Styles: gnu (the default: clusters of short flags, --long=value, flags anywhere), go (-long or --long), word (each flag
// is one exact word, value after = or in the next word), none (no flags).
//
//go:embed tools/*.yaml
var tableFiles embed.FS

// A tables value is what all files say, ready for look-up. It is never changed after loading.
type tables struct {
	tools    map[string]*spec
	canon    map[string]string // other names of a tool: python3 is python
	examples []example
}

// An example is a command that a table promises to accept or to refuse.
type example struct {
	file, text string
	safe       bool
}

type rawFile struct {
	Eco   string            `yaml:"eco"`
	Local bool              `yaml:"local"`
	Sets  map[string]string `yaml:"sets"`
	Tools []rawSpec         `yaml:"tools"`
	Harm  map[string]string `yaml:"harm"`
}

type rawSpec struct {
	Name    string              `yaml:"name"`
	Also    string              `yaml:"also"` // other names of the same tool
	Eco     string              `yaml:"eco"`
	Style   string              `yaml:"style"`
	Class   string              `yaml:"class"`
	Use     []string            `yaml:"use"`
	Flags   string              `yaml:"flags"`
	Args    string              `yaml:"args"`
	Modes   map[string]string   `yaml:"modes"` // other operands when one of the flags is given
	Skip    string              `yaml:"skip"`  // flags that take the place of the first operand (grep -e)
	Need    string              `yaml:"need"`  // one of these flags, or else the effect in Lacking
	Lacking string              `yaml:"lacking"`
	Effects string              `yaml:"effects"`
	Inner   *rawInner           `yaml:"inner"`
	Subs    map[string]*rawSpec `yaml:"subs"`
	Harm    map[string]string   `yaml:"harm"`
	Rest    *rawSpec            `yaml:"rest"`    // what follows --
	Some    bool                `yaml:"some"`    // does not run without operands
	Bare    bool                `yaml:"bare"`    // may be called without a sub-command
	Stop    bool                `yaml:"stop"`    // flags end at the first operand
	Extra   bool                `yaml:"extra"`   // unknown flags go to the project's own program
	Spread  bool                `yaml:"spread"`  // its flags may also follow the sub-command
	Module  bool                `yaml:"module"`  // only as python -m NAME
	Local   bool                `yaml:"local"`   // may be a file in the repository (vendor/bin/phpunit)
	Words   string              `yaml:"words"`   // extra words that verify, in names of its targets
	Targets string              `yaml:"targets"` // targets known to verify, beyond what their names say
	Neutral string              `yaml:"neutral"` // targets that neither verify nor harm next to one that does
	Safe    []string            `yaml:"safe"`
	Denied  []string            `yaml:"denied"`
}

// A rawInner says where the command inside a wrapper starts.
type rawInner struct {
	Skip   int    `yaml:"skip"`   // operands before it
	Env    bool   `yaml:"env"`    // NAME=VALUE words before it
	Eco    string `yaml:"eco"`    // only tools of this ecosystem are known to be local
	Target bool   `yaml:"target"` // otherwise it is the name of a project script
	Script string `yaml:"script"` // suffix of files it runs
	Python bool   `yaml:"python"` // a module: python -m NAME
	Shell  bool   `yaml:"shell"`  // it is a shell: -c TEXT, or a script
	Fed    bool   `yaml:"fed"`    // operands come from a pipe
	Drop   bool   `yaml:"drop"`   // the wrapper is no program: leave it out of the plan
}

// A spec is a tool or a sub-command.
type spec struct {
	rawSpec
	flags    map[string]*flag
	prefixes []*flag
	args     []argument
	modes    map[string][]argument // by flag
	skip     []string
	need     []string
	lacking  []string
	effects  []string
	words    []string
	targets  []string
	neutral  []string
	subs     map[string]*spec
	rest     *spec
}

// A flag is one flag of a spec.
type flag struct {
	name    string
	role    string // "" takes no value
	attach  bool   // value only attached, and optional
	effects []string
	class   string
	list    []string // allowed values, when role is "list"
}

// An argument is the role of one operand.
type argument struct {
	role   string
	list   []string
	repeat bool
}

const (
	roles       = " v read write exec dir stat glob url rev target name script arg prop inner sed awk jq header format makevar list "
	classes     = " check read filter print dir "
	effectNames = " background config container database delete deploy disk execute install kill mail network network_write " +
		"overwrite persist privilege publish secret vcs_write power "
)

var loadTables = sync.OnceValues(func() (*tables, error) {
	return readTables(tableFiles)
})

// theTables panics when the embedded tables are broken: that is our bug, and a test loads them.
func theTables() *tables {
	t, err := loadTables()
	if err != nil {
		panic("internal error: tables of tools: " + err.Error())
	}
	return t
}

func readTables(files fs.FS) (*tables, error) {
	names, err := fs.Glob(files, "tools/*.yaml")
	if err != nil {
		return nil, err
	}
	t := &tables{tools: map[string]*spec{}, canon: map[string]string{}}
	var errs []error
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err == nil {
			err = t.add(path.Base(name), data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path.Base(name), err))
		}
	}
	return t, errors.Join(errs...)
}

func (t *tables) add(file string, data []byte) error {
	var raw rawFile
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&raw); err != nil {
		return err
	}
	b := builder{sets: raw.Sets}
	for i := range raw.Tools {
		r := raw.Tools[i]
		r.Local = r.Local || raw.Local
		if r.Eco == "" {
			r.Eco = raw.Eco
		}
		names := strings.Fields(r.Name)
		r.Name = names[0]
		sp := b.spec(r)
		for _, name := range names {
			b.keepErr(t.put(name, sp))
		}
		for _, name := range strings.Fields(r.Also) {
			t.canon[name] = names[0]
			b.keepErr(t.put(name, sp))
		}
		for _, s := range r.Safe {
			t.examples = append(t.examples, example{file, s, true})
		}
		for _, s := range r.Denied {
			t.examples = append(t.examples, example{file, s, false})
		}
	}
	for effect, list := range raw.Harm {
		for _, name := range strings.Fields(list) {
			b.keepErr(t.put(name, b.harm(name, raw.Eco, effect)))
		}
	}
	return errors.Join(b.errs...)
}

func (t *tables) put(name string, s *spec) error {
	if t.tools[name] != nil {
		return fmt.Errorf("%s: defined twice", name)
	}
	t.tools[name] = s
	return nil
}
