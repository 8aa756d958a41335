//go:build 386 || arm || mips || mipsle || wasm

package block

// Lengths and offsets of shards are 64-bit and become ints: 32-bit platforms would truncate them, so they do not compile
// (docs/install.md lists the supported platforms).
var _ = shardcat_needs_a_64_bit_platform
