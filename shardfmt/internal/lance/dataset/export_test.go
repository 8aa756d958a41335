package dataset

// Fixture is fixture for tests of the packages above.
var Fixture = fixture
