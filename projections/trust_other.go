//go:build !unix

package projections

// OtherAccount is not known on this platform.
func (p *Projector) OtherAccount(int) (other bool, why string, err error) {
	return false, "who may read the store cannot be told on this platform", nil
}
