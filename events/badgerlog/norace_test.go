//go:build !race

package badgerlog

const raced = false
