package merge

// For the tests outside the package.
const PackGrowth = packGrowth

var ErrRevived = errRevived
