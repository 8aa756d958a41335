// Package browser holds the tests of the console in a real browser, Debian's Chromium without a head: what pages look like in light and
// dark, whether keyboard and screen reader come by, what actions do, and how a table of 100,000 shards fares. It has no code of its own, and is
// a module of its own so that nothing else depends on the browser's protocol.
//
// SHARDCAT_SCREENSHOTS names a folder for pictures of the pages.
package browser
