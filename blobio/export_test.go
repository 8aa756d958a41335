package blobio

// SlowestRate for the tests of time limits.
const SlowestRate = slowestRate
