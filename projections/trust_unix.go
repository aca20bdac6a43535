//go:build unix

package projections

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dalkkak/dkgraph/projections/internal/issuer"
)

// OtherAccount reports whether the account uid, under which agents run, can neither read the sealing key nor change the
// store: both belong to somebody else, who lets nobody else in. why says what is against it.
func (p *Projector) OtherAccount(uid int) (other bool, why string, err error) {
	if uid == 0 {
		return false, "the superuser reads and writes everything", nil
	}
	for _, name := range []string{p.dir, filepath.Join(p.dir, "log"), filepath.Dir(issuer.File(p.dir)), issuer.File(p.dir)} {
		info, err := os.Stat(name)
		if err != nil {
			return false, "", err
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return false, "the owner of " + name + " is not known", nil
		case int(owner.Uid) == uid:
			return false, name + " belongs to that account", nil
		case info.Mode().Perm()&0o077 != 0:
			return false, fmt.Sprintf("%s lets others in (%04o)", name, info.Mode().Perm()), nil
		}
	}
	return true, "", nil
}
