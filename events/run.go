package events

import "time"

// Run is the payload of [KindRunObserved]: everything a judge may need, so that no later rule needs a re-run. It is
// written before judging.
type Run struct {
	Claim   Ref    `json:"claim"`
	Gate    Ref    `json:"gate"`
	Ruleset string `json:"ruleset"` // the one whose gate let it run

	// Problem is empty when the check ran to its end; otherwise a stable code that says why there is no full evidence:
	// cwd_unknown, cwd_not_granted, cwd_missing, program_not_found, timeout, output_limit, start_error,
	// subject_moved (the scripts it runs changed after the gate), and so on.
	Problem string `json:"problem,omitempty"`
	Detail  string `json:"detail,omitempty"` // the problem in words for people

	Check   string `json:"check"`             // command, or file: a check made by the store itself
	Command string `json:"command,omitempty"` // as the agent wrote it
	CWD     string `json:"cwd,omitempty"`     // resolved, symlinks followed
	Root    string `json:"root,omitempty"`    // the granted root it lies in

	Started    time.Time `json:"started,omitzero"`
	DurationMS int64     `json:"duration_ms"`
	TimeoutMS  int64     `json:"timeout_ms,omitempty"`
	UserMS     int64     `json:"user_ms,omitempty"`
	SystemMS   int64     `json:"system_ms,omitempty"`
	MaxRSSKB   int64     `json:"max_rss_kb,omitempty"`

	Sandbox  Sandbox  `json:"sandbox"`
	EnvNames []string `json:"env_names,omitempty"`  // sorted
	EnvSHA   string   `json:"env_sha256,omitempty"` // over the sorted NAME=VALUE lines
	Stages   []Stage  `json:"stages,omitempty"`

	// Exit is the status a shell would have given. CheckExit is the status of what was checked, with the laundering
	// undone: `go test | tail` and `go test || true` give the status of go test. They differ when Masked.
	Exit      int  `json:"exit"`
	CheckExit int  `json:"check_exit"`
	Masked    bool `json:"masked,omitempty"`

	Stdout     Stream      `json:"stdout"`
	Stderr     Stream      `json:"stderr"`
	Expects    []ExpectHit `json:"expects,omitempty"`
	Tests      *Tests      `json:"tests,omitempty"`
	Highlights []string    `json:"highlights,omitempty"` // output lines that show what went wrong, first one first
	Files      []File      `json:"files,omitempty"`      // file claims, looked at by the store itself
}

// Sandbox says how a run was contained, and what of it could not be had on this machine.
type Sandbox struct {
	Backend  string   `json:"backend"`            // none, linux-ns, linux-landlock, seatbelt
	Degraded []string `json:"degraded,omitempty"` // what this backend does not stop
}

// Stage is one process of a run.
type Stage struct {
	Call     int      `json:"call"` // index into the plan's calls
	Argv     []string `json:"argv"`
	Dir      string   `json:"dir,omitempty"`
	Program  string   `json:"program,omitempty"` // the resolved file; "" for a builtin
	SHA256   string   `json:"program_sha256,omitempty"`
	InTree   bool     `json:"in_tree,omitempty"` // the program lies inside the granted root
	Exit     int      `json:"exit"`
	Signal   string   `json:"signal,omitempty"`
	NotFound bool     `json:"not_found,omitempty"`
	Millis   int64    `json:"ms"`
}

// Stream is one captured output. Text is valid UTF-8: the head and the tail of the output when Truncated.
type Stream struct {
	Bytes     int64  `json:"bytes"`
	Lines     int64  `json:"lines"`
	SHA256    string `json:"sha256"` // of every byte written, kept or not
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ExpectHit says whether one expectation about output or a file was met. Output is matched while it streams, on all of
// it, not on the part that is kept.
type ExpectHit struct {
	What string `json:"what"` // stdout_contains, output_matches, file_exists, …
	Want string `json:"want"`
	Met  bool   `json:"met"`
	Got  string `json:"got,omitempty"` // what was found instead, or the line that matched
}

// Tests are the facts that a versioned extractor read out of a test runner's report.
type Tests struct {
	Framework string `json:"framework"`
	Extractor string `json:"extractor"` // name@version
	Run       int64  `json:"run"`       // passed + failed
	Passed    int64  `json:"passed"`
	Failed    int64  `json:"failed"`
	Skipped   int64  `json:"skipped,omitempty"`
	Cached    int64  `json:"cached,omitempty"` // results replayed from a cache
	// Counted is false where the output proves success or failure but gives no number of tests.
	Counted bool `json:"counted"`
	None    bool `json:"none,omitempty"` // the runner itself says that it ran no test
}

// File is what the store itself found at a path.
type File struct {
	Path   string    `json:"path"`           // as claimed, relative to the working folder
	Abs    string    `json:"abs,omitempty"`  // resolved
	Exists bool      `json:"exists"`         //
	Type   string    `json:"type,omitempty"` // file, dir, symlink, other
	Target string    `json:"target,omitempty"`
	Leads  string    `json:"leads,omitempty"` // type of what a symlink leads to
	Mode   string    `json:"mode,omitempty"`
	Size   int64     `json:"size"`
	MTime  time.Time `json:"mtime,omitzero"`
	SHA256 string    `json:"sha256,omitempty"`
	Error  string    `json:"error,omitempty"`
}
