package shell

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

const devNull = "/dev/null"

// redirects lowers the redirections of a statement. Only /dev/null can be written, only 1 and 2 can be copied.
func (l *lowerer) redirects(list []*syntax.Redirect) (acts []FDAction, shown []Redirect, ok bool) {
	ok = true
	for _, r := range list {
		a, s, ref := l.redirect(r)
		if ref != nil {
			l.refuse(ref)
			ok = false
			continue
		}
		acts = append(acts, a...)
		shown = append(shown, s)
	}
	return acts, shown, ok
}

func (l *lowerer) redirect(r *syntax.Redirect) ([]FDAction, Redirect, *Refusal) {
	if r.Hdoc != nil || r.Word == nil {
		return nil, Redirect{}, l.refusal("heredoc", r)
	}
	ws, ref := l.words(r.Word)
	if ref != nil {
		return nil, Redirect{}, ref
	}
	if len(ws) != 1 || ws[0].glob || ws[0].dynamic {
		return nil, Redirect{}, l.refusal("redirect", r)
	}
	fd, ok := redirectFD(r)
	if !ok {
		return nil, Redirect{}, l.refusal("redirect_descriptor", r)
	}
	to := ws[0].text
	show := Redirect{Op: r.Op.String(), Value: to}
	if r.N != nil {
		show.Op = r.N.Value + show.Op
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		if to != devNull || fd == 0 {
			return nil, Redirect{}, l.refusal("redirect_write", r)
		}
		show.Place = "null"
		acts := []FDAction{{FD: fd, File: devNull}}
		if r.Op == syntax.RdrAll || r.Op == syntax.AppAll {
			acts = append(acts, FDAction{FD: 2, File: devNull})
		}
		return acts, show, nil
	case syntax.RdrIn:
		if fd != 0 || to == "" {
			return nil, Redirect{}, l.refusal("redirect_descriptor", r)
		}
		show.Place = l.place("read", to)
		return []FDAction{{FD: 0, File: to, Read: true}}, show, nil
	case syntax.DplOut:
		// >&WORD writes a file when WORD is no number, which is why only these two words pass
		from, err := strconv.Atoi(to)
		if err != nil || (to != "1" && to != "2") || fd == 0 {
			return nil, Redirect{}, l.refusal("redirect_write", r)
		}
		show.Op, show.Value = show.Op+to, ""
		return []FDAction{{FD: fd, From: from}}, show, nil
	case syntax.WordHdoc:
		return nil, Redirect{}, l.refusal("here_string", r)
	default:
		return nil, Redirect{}, l.refusal("redirect", r)
	}
}

// redirectFD is the descriptor that a redirection sets: 0, 1 or 2.
func redirectFD(r *syntax.Redirect) (int, bool) {
	if r.N == nil {
		if r.Op == syntax.RdrIn || r.Op == syntax.DplIn || r.Op == syntax.RdrInOut || r.Op == syntax.WordHdoc {
			return 0, true
		}
		return 1, true
	}
	switch r.N.Value {
	case "0", "1", "2":
		return int(r.N.Value[0] - '0'), r.Op != syntax.RdrAll && r.Op != syntax.AppAll
	}
	return 0, false
}

// spread gives the redirections of a group to each process in it. Inside a pipe only what does not depend on the pipe can
// be given to a stage: discarding fd 2 to all, discarding fd 1 to the last; anything else is refused.
func spread(p *Plan, acts []FDAction) bool {
	if len(acts) == 0 {
		return true
	}
	switch p.Op {
	case OpRun:
		p.Exec.Redirs = append(append([]FDAction{}, acts...), p.Exec.Redirs...)
		return true
	case OpPipe:
		return spreadPipe(p, acts)
	case OpAnd, OpOr, OpSeq, OpNot, OpSub:
		for i := range p.Kids {
			// a file that is read has one offset, shared by the group: only one process may have it
			if readsFile(acts) && len(p.Kids) > 1 {
				return false
			}
			if !spread(&p.Kids[i], acts) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

func spreadPipe(p *Plan, acts []FDAction) bool {
	final := map[int]string{}
	for _, a := range acts {
		if a.File != "" {
			final[a.FD] = a.File
		} else if final[a.From] == "" {
			return false
		} else {
			final[a.FD] = final[a.From]
		}
	}
	last := len(p.Kids) - 1
	for _, fd := range []int{2, 1, 0} {
		file, ok := final[fd]
		if !ok {
			continue
		}
		if file != devNull || fd == 0 {
			return false
		}
		for i := range p.Kids {
			if fd == 2 || i == last {
				spread(&p.Kids[i], []FDAction{{FD: fd, File: file}})
			}
		}
	}
	return true
}

func readsFile(acts []FDAction) bool {
	for _, a := range acts {
		if a.Read && a.File != devNull {
			return true
		}
	}
	return false
}
