//go:build !linux && !darwin

package runner

import (
	"errors"
	"io/fs"
	"os"
)

const (
	supported  = false
	openNoWait = 0
)

var errUnsupported = errors.New("commands cannot be run on this platform")

func noneDegraded() []string { return nil }

func killGroup(int)      {}
func terminateGroup(int) {}

func endingOf(state *os.ProcessState) ending { return ending{status: state.ExitCode()} }

func worldWritable(fs.FileInfo) bool { return false }

func mayExecute(string, fs.FileInfo) bool { return false }

type fileID struct{}

func idOf(fs.FileInfo) (fileID, bool) { return fileID{}, false }

type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(string, []string, *os.ProcAttr) (*os.Process, error) {
	return nil, errUnsupported
}

func (*spawner) close() {}

func (*spawner) degraded() []string { return nil }

func waitFor(*os.Process, func()) (*os.ProcessState, error) { return nil, errUnsupported }
