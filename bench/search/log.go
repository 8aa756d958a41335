package main

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The log has a line per record:
//
//	t        microseconds since 1970, ascending, some 500 lines a second
//	level    DEBUG, INFO, WARN or ERROR, by and large in this order of frequency from INFO on
//	service  one of 24
//	host     one of 400
//	trace    32 hexadecimal digits; four lines of 64 have the same
//	message  METHOD /resource/id status NNms, then six to fourteen words
//
// The words are made of syllables and occur by Zipf's law. Between them stand the needles, each with a letter that no syllable has: so no needle is
// part of another word, and a tokenizer, LIKE and a search for whole words mean the same by them.
const (
	once       = "quixotic"     // in one line
	rare       = "zirconium"    // in one line of 100,000
	percent    = "kafka"        // in 1 % of the lines
	percentToo = "zookeeper"    // in another 1 %
	half       = "acknowledged" // in every other line, by chance
	stem       = "quark"        // the start of 26 words, which one line of 1,000 has one of
	inner      = "xylophon"     // within a word that one line of 10,000 has
	outer      = "paraxylophonist"
)

const (
	vocabulary = 20_000
	// slots is how finely the frequencies of words are distinguished.
	slots = 1 << 20
	ids   = 100_000
)

// found is how many lines each needle is in.
type found struct{ once, rare, percent, both, half, stem, inner, trace int }

// generator makes the lines of a log, the same ones for the same number of them.
type generator struct {
	lines, next int
	random      *rand.PCG
	words       [vocabulary]string
	zipf        []uint16
	micros      int64
	text        int64 // bytes of messages
	all         int64 // bytes of values
	found       found
}

func newGenerator(lines int) *generator {
	g := &generator{lines: lines, random: rand.NewPCG(17, 7), micros: 1_790_000_000_000_000, zipf: make([]uint16, 0, slots)}
	seen := map[string]bool{}
	for i := range g.words {
		for w := g.word(); ; w = g.word() {
			if !seen[w] {
				g.words[i], seen[w] = w, true
				break
			}
		}
	}
	sum := 0.0
	for i := range vocabulary {
		sum += 1 / float64(i+1)
	}
	at := 0.0
	for i := range vocabulary {
		at += slots / sum / float64(i+1)
		for float64(len(g.zipf)) < at && len(g.zipf) < slots {
			g.zipf = append(g.zipf, uint16(i))
		}
	}
	for len(g.zipf) < slots {
		g.zipf = append(g.zipf, vocabulary-1)
	}
	return g
}

// word makes one of two to four syllables.
func (g *generator) word() string {
	const consonants, vowels = "bdfglmnprstv", "aeiou"
	var w []byte
	for range 2 + g.below(3) {
		w = append(w, consonants[g.below(len(consonants))], vowels[g.below(len(vowels))])
	}
	return string(w)
}

// below is a number from 0 on, less than n.
func (g *generator) below(n int) int { return int(g.random.Uint64() >> 33 * uint64(n) >> 31) }

// traceOf is the trace id of a line.
func traceOf(line int) string {
	n := uint64(line/64*16 + line%16)
	var b [16]byte
	for i := range b {
		if i%8 == 0 {
			n = mix(n + 0x9E3779B97F4A7C15)
		}
		b[i] = byte(n >> (8 * (i % 8)))
	}
	return hex.EncodeToString(b[:])
}

// mix is the last step of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xBF58476D1CE4E5B9
	n = (n ^ n>>27) * 0x94D049BB133111EB
	return n ^ n>>31
}

// needleLine is that of the word that occurs once; its trace is the one that is looked up.
func (g *generator) needleLine() int { return g.lines * 5 / 8 }

var (
	methods   = []string{"GET", "GET", "GET", "POST", "PUT", "DELETE"}
	resources = []string{"orders", "users", "carts", "items", "sessions", "payments", "invoices", "events"}
	statuses  = []string{"200", "200", "200", "200", "201", "204", "304", "404", "500", "503"}
	levels    = []string{"INFO", "INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "WARN", "ERROR"}
)

// fields are the columns, as every contestant gets them.
var fields = arrow.NewSchema([]arrow.Field{
	{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{Name: "level", Type: arrow.BinaryTypes.LargeString},
	{Name: "service", Type: arrow.BinaryTypes.LargeString},
	{Name: "host", Type: arrow.BinaryTypes.LargeString},
	{Name: "trace", Type: arrow.BinaryTypes.LargeString},
	{Name: "message", Type: arrow.BinaryTypes.LargeString},
}, nil)

const batchLines = 32 << 10

// batch makes the next lines, nil after the last.
func (g *generator) batch() arrow.RecordBatch {
	n := min(batchLines, g.lines-g.next)
	if n == 0 {
		return nil
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, fields)
	b.Reserve(n)
	var text [5]*array.LargeStringBuilder
	for i := range text {
		text[i] = b.Field(i + 1).(*array.LargeStringBuilder)
	}
	var message []byte
	for range n {
		g.micros += int64(g.below(4000))
		b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(g.micros))
		text[0].Append(levels[g.below(len(levels))])
		service := g.below(24)
		text[1].Append("svc-" + g.words[service])
		text[2].Append("host-" + strconv.Itoa(service*17+g.below(17)))
		trace := traceOf(g.next)
		text[3].Append(trace)
		message = g.message(message[:0])
		text[4].Append(string(message))
		g.text += int64(len(message))
		if g.next/64 == g.needleLine()/64 && trace == traceOf(g.needleLine()) {
			g.found.trace++
		}
		g.next++
	}
	out := b.NewRecordBatch()
	g.all += 8 * int64(n)
	for _, c := range out.Columns()[1:] {
		offsets := c.(*array.LargeString).ValueOffsets()
		g.all += offsets[n] - offsets[0]
	}
	return out
}

// message appends the message of the next line.
func (g *generator) message(m []byte) []byte {
	m = append(append(m, methods[g.below(len(methods))]...), " /"...)
	m = append(append(m, resources[g.below(len(resources))]...), '/')
	m = append(strconv.AppendInt(m, int64(g.below(ids)), 10), ' ')
	m = append(append(m, statuses[g.below(len(statuses))]...), ' ')
	m = append(strconv.AppendInt(m, 1+int64(g.below(40)*g.below(40)), 10), "ms"...)
	for range 6 + g.below(9) {
		m = append(append(m, ' '), g.words[g.zipf[g.below(slots)]]...)
	}
	return g.needles(m)
}

// needles appends those of the next line, and counts them.
func (g *generator) needles(m []byte) []byte {
	add := func(in bool, n *int, word string) bool {
		if in {
			*n++
			m = append(append(m, ' '), word...)
		}
		return in
	}
	f := &g.found
	add(g.next == g.needleLine(), &f.once, once)
	add(g.next%100_000 == 777, &f.rare, rare)
	other := 0
	if a, b := add(g.below(100) == 0, &f.percent, percent), add(g.below(100) == 0, &other, percentToo); a && b {
		f.both++
	}
	add(g.below(2) == 0, &f.half, half)
	add(g.below(1000) == 0, &f.stem, stem+string(rune('a'+g.below(26))))
	add(g.below(10_000) == 0, &f.inner, outer)
	return m
}
