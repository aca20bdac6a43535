package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// Files are the files of a project that say what its scripts are, by path relative to the folder the command starts in. A
// path that is not in it was not looked for.
type Files map[string]File

// A File is what is known of one file.
type File struct {
	Text    []byte // nil: there is no such file
	Problem string // why an existing file could not be read; ProblemOutside ends a search upwards
}

// ProblemOutside is the Problem of a path that leads out of what may be read.
const ProblemOutside = "outside"

// A Source is a file that facts rest on, as it was then.
type Source struct {
	Path   string `json:"path"`   // relative to the folder the command starts in
	SHA256 string `json:"sha256"` // in hex; "" when there was no such file, or none that could be read
}

// Bounds on what is read of a project's scripts. What is over them is refused.
const (
	maxScriptDepth = 4       // scripts that run scripts
	maxBodies      = 128     // texts of scripts, each as often as it is run
	maxWanted      = 48      // files looked for
	maxClimb       = 8       // folders a search goes up
	maxBody        = 2 << 10 // bytes of Call.Body
)

// AnalyseWith is [AnalyseIn] with the files of the project. The commands of the scripts that the text runs are calls, too,
// after its own and with Via saying which script they are in.
//
// A script is read for harm, in whatever construct it stands. What is not understood in it makes it opaque, and no more:
// loops and variables are ordinary there, and its name still has to promise a check.
func AnalyseWith(root, text string, files Files) Analysis {
	return analyse(root, text, &project{root: cleanRoot(root), files: files, seen: map[string]bool{}})
}

// Wanted lists the files that the analysis asked for and was not given: read them and analyse again.
func (a Analysis) Wanted() []string { return a.wanted }

// A project is what one analysis knows of the scripts around it.
type project struct {
	root    string
	files   Files
	seen    map[string]bool // files asked for
	wanted  []string        // of these, those that are not in files
	stack   []string        // scripts that are being read, outermost first
	bodies  int
	problem string // a bound that was hit: nothing that runs a script is understood then
}

func (p *project) fail(problem string) {
	if p.problem == "" {
		p.problem = problem
	}
}

// file looks a file up. ok is false when it cannot be read, or does not exist.
func (p *project) file(name string) (File, bool) {
	if !p.seen[name] && len(p.seen) >= maxWanted {
		p.fail("too many files of scripts")
		return File{}, false
	}
	f, given := p.files[name]
	if !given && !p.seen[name] {
		p.wanted = append(p.wanted, name)
	}
	p.seen[name] = true
	return f, f.Text != nil
}

func (p *project) sources() []Source {
	out := []Source{}
	for name := range p.seen {
		f, given := p.files[name]
		if !given {
			continue
		}
		s := Source{Path: name}
		if f.Text != nil {
			sum := sha256.Sum256(f.Text)
			s.SHA256 = hex.EncodeToString(sum[:])
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// A runner is a program that runs scripts of the project by name.
type runner struct {
	files []string // names of the file that holds them; the first that exists counts
	climb bool     // it is looked for in the folders above, too
	read  func(l *lowerer, file File, name string, args []string) (script, bool)
}

var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

func runnerOf(tool string) (runner, bool) {
	switch tool {
	case "npm", "pnpm", "yarn", "bun":
		return runner{[]string{"package.json"}, true, packageScript}, true
	case "npm-run-all", "run-s", "run-p":
		return runner{[]string{"package.json"}, true, packageScripts}, true
	case "deno":
		return runner{[]string{"deno.json", "deno.jsonc", "package.json"}, true, denoTask}, true
	case "composer":
		return runner{[]string{"composer.json"}, false, composerScript}, true
	case "make":
		return runner{makefiles, false, makeTarget}, true
	case "just":
		return runner{[]string{"justfile", "Justfile", ".justfile"}, true, justRecipe}, true
	case "task":
		return runner{[]string{"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"}, true, taskfileTask}, true
	}
	return runner{}, false
}

// A script is what a runner does for a name.
type script struct {
	parts  []part
	opaque bool // there is more to it than the parts
}

// A part is one text that a shell is given.
type part struct {
	text string
	soft bool   // its failure does not count
	cd   string // folder it runs in, from that of the file
}

// asked lists the scripts that a call names; ok is false when it may run others that we cannot find.
func asked(c *Call, names []string) (out []string, ok bool) {
	other := func(flags string) bool {
		return slices.ContainsFunc(strings.Fields(flags), func(f string) bool { return slices.Contains(c.Flags, f) })
	}
	sub := func(subs string) bool { return slices.Contains(strings.Split(subs, "|"), c.Sub) }
	switch c.Tool {
	case "npm":
		if sub("test|t|tst") {
			names = []string{"test"}
		}
		return names, !other("-w --workspace --workspaces -ws --include-workspace-root") && sub("test|t|tst|run|run-script|rum|urn")
	case "pnpm":
		if sub("test|t") {
			names = []string{"test"}
		}
		return names, !other("-r --recursive -w --workspace-root -F --filter") && sub("|test|t|run|run-script")
	case "yarn":
		if sub("test") {
			names = []string{"test"}
		}
		return names, sub("|test|run")
	case "bun":
		return names, !other("-F --filter") && sub("|run")
	case "deno":
		return names, !other("-r --recursive -f --filter") && sub("task")
	case "composer":
		if sub("test") {
			names = []string{"test"}
		}
		return names, sub("|test|run|run-script")
	case "make", "just", "task":
		if len(names) == 0 {
			names = []string{""} // the default
		}
		return names, true
	}
	return names, true
}

// runs reads the scripts that a call runs, and draws the conclusions for the call.
func (l *lowerer) runs(c *Call, res result) {
	names, ok := asked(c, res.scripts)
	_, known := runnerOf(c.Tool)
	if known = known && len(names) > 0; known {
		c.ScriptOpaque = true
		if c.Script == "" {
			c.Script = strings.Join(names, " ")
		}
	}
	var b body
	if l.proj != nil && c.Class != "read" {
		for _, a := range res.asks {
			l.ask(&b, c, a)
		}
		for _, text := range res.lines {
			l.line(&b, c, text)
		}
		for i := 0; known && ok && i < len(names); i++ {
			a := ask{tool: c.Tool, name: names[i], dirs: res.dirs, must: true}
			if i == 0 && c.Tool != "make" {
				a.args = res.args
			}
			l.ask(&b, c, a)
		}
	}
	b.conclude(c, res.promised, res.unnamed)
}

// An ask is a script that a call runs, or would run if there were one of that name.
type ask struct {
	tool, name string
	args, dirs []string
	must       bool
}

// ask reads one script in each folder where the call may run.
func (l *lowerer) ask(b *body, c *Call, a ask) {
	run, known := runnerOf(a.tool)
	if !known {
		return
	}
	dirs := l.ok
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	for _, d := range dirs {
		for _, to := range a.dirs {
			d = join(d, to)
		}
		dir, file, name, ok := l.find(run, within(l.root, d))
		if !ok {
			b.missing = b.missing || a.must
			continue
		}
		s, found := run.read(l, file, a.name, a.args)
		if !found {
			b.missing = b.missing || a.must
			continue
		}
		l.body(b, c, dir, name+" "+a.name, strings.TrimSpace(a.tool+" "+a.name), s)
	}
}

// find looks for the file of a runner from dir upwards. The folder it gives is relative to where the analysis started.
func (l *lowerer) find(run runner, dir string) (at string, f File, name string, ok bool) {
	if strings.HasPrefix(dir, "/") || strings.HasPrefix(path.Clean(dir), "..") {
		return "", File{}, "", false // refused for its place already
	}
	dir = path.Join(l.prefix, dir)
	for range maxClimb {
		for _, n := range run.files {
			full := path.Join(dir, n)
			f, ok := l.proj.file(full)
			if ok {
				return dir, f, full, true
			}
			switch f.Problem {
			case "":
			case ProblemOutside:
				return "", File{}, "", false
			default:
				l.proj.fail(full + " " + f.Problem)
				return "", File{}, "", false
			}
		}
		if !run.climb {
			break
		}
		dir = path.Join(dir, "..")
	}
	return "", File{}, "", false
}

func texts(ws []word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.text
	}
	return out
}
