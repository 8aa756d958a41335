package scan

import "testing"

// TestAheadKeepsBytesForTheNext: a scan takes bytes before its turn only if those between it and the last one whose turn has come could take
// as many; turns and returned bytes are signalled to those that wait.
func TestAheadKeepsBytesForTheNext(t *testing.T) {
	const mebibyte = 1 << 20
	a := NewAhead(aheadBytes*aheadShare, 1)
	given := a.given()
	if a.tryWaiting(mebibyte, 33) {
		t.Error("the 33rd scan after the first took the 33rd of 32 mebibytes")
	}
	if !a.tryWaiting(mebibyte, 32) || !a.tryWaiting(mebibyte, 1) {
		t.Error("scans for which there are bytes got none")
	}
	if a.SetTurn(20); !a.tryWaiting(mebibyte, 33) {
		t.Error("the turn of the 20th did not bring the 33rd nearer")
	}
	select {
	case <-given:
	default:
		t.Error("a turn was not signalled")
	}
	if a.tryWaiting(40*mebibyte, 21) || !a.try(40*mebibyte) || a.try(40*mebibyte) {
		t.Error("half of the bytes are for scans whose turn has come, and no more than all")
	}
	given = a.given()
	a.give(40 * mebibyte)
	select {
	case <-given:
	default:
		t.Error("returned bytes were not signalled")
	}
}
