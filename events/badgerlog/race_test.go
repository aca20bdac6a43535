//go:build race

package badgerlog

// raced: the race detector is on. It makes the children six times slower and has little to find in them, so that the fault
// table then runs only in part.
const raced = true
