package fileio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Numbers read in one pass are those that strconv reads, bit by bit.
func TestPlainNumbersAreThoseOfStrconv(t *testing.T) {
	r, taken := rand.New(rand.NewPCG(14, 3)), 0
	for range 200_000 {
		text := strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)
		if n := r.IntN(len(text) + 3); n > 0 && n < len(text) {
			text = text[:n] + "." + text[n:]
		}
		if r.IntN(3) == 0 {
			text = "-" + text
		}
		if got, ok := plainFloat([]byte(text)); ok {
			taken++
			if want, err := strconv.ParseFloat(text, 64); err != nil || math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s is %v, want %v, %v", text, got, want, err)
			}
		}
		if got, ok := plainInteger([]byte(text)); ok {
			taken++
			if want, err := strconv.ParseInt(text, 10, 64); err != nil || got != want {
				t.Fatalf("%s is %d, want %d, %v", text, got, want, err)
			}
		}
	}
	if taken < 100_000 {
		t.Errorf("only %d of the numbers were plain", taken)
	}
	if v, ok := plainFloat([]byte("-0.0")); !ok || !math.Signbit(v) {
		t.Errorf("-0.0 is %v, %v", v, ok)
	}
	for _, text := range []string{
		"0", "-0", "7", "999999999999999999", "-999999999999999999", "0.05", "24386.67", "99999999999999", "9999999.9999999",
	} {
		_, whole := plainInteger([]byte(text))
		if _, any := plainFloat([]byte(text)); !whole && !any {
			t.Errorf("%s is read the long way", text)
		}
	}
}

// What JSON does not write so, or what one pass can't hold, is left to the long way, with its errors.
func TestNumbersThatAreNotPlain(t *testing.T) {
	for _, text := range []string{"", "-", "+1", "007", "-01", "1e3", "NaN", "1_0", "0x1", " 1", "1 ", "--1", "1234567890123456789"} {
		if v, ok := plainInteger([]byte(text)); ok {
			t.Errorf("%q is the integer %d", text, v)
		}
	}
	for _, text := range []string{"", "-", ".", ".5", "5.", "-.5", "00.5", "1.2.3", "1e3", "NaN", "-Infinity", "1234567890.123456", "9007199254740993"} {
		if v, ok := plainFloat([]byte(text)); ok {
			t.Errorf("%q is the number %v", text, v)
		}
	}
}

// What is read eight characters at a time is what one character after the other states, wherever the text ends in memory.
func TestEightCharactersAreThoseOneByOne(t *testing.T) {
	r, taken := rand.New(rand.NewPCG(14, 4)), 0
	for range 500_000 {
		text := letters(r, "0123456789012345678901234567890123456789..-e /:", r.IntN(20))
		behind := append(bytes.Clone(text), letters(r, "0123456789.", 8)...)
		for _, s := range [][]byte{text[:len(text):len(text)], behind[:len(text)]} {
			n, ok := plainInteger(s)
			wantN, wantOK := integerByDigits(s)
			if n != wantN && ok || ok != wantOK {
				t.Fatalf("%q is the integer %d, %v, want %d, %v", s, n, ok, wantN, wantOK)
			}
			v, ok := plainFloat(s)
			want, wantOK := floatByDigits(s)
			if ok != wantOK || ok && math.Float64bits(v) != math.Float64bits(want) {
				t.Fatalf("%q is the number %v, %v, want %v, %v", s, v, ok, want, wantOK)
			}
			if ok {
				taken++
			}
		}
	}
	if taken < 100_000 {
		t.Errorf("only %d were numbers", taken)
	}
}

func letters(r *rand.Rand, from string, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = from[r.IntN(len(from))]
	}
	return s
}

// integerByDigits is plainInteger, a digit at a time.
func integerByDigits(t []byte) (n int64, ok bool) {
	digits, negative := unsigned(t)
	if len(digits) == 0 || len(digits) > plainDigits || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	if negative {
		n = -n
	}
	return n, true
}

// floatByDigits is plainFloat, a character at a time.
func floatByDigits(t []byte) (v float64, ok bool) {
	t, negative := unsigned(t)
	if len(t) == 0 || len(t) >= len(powers) || len(t) > 1 && t[0] == '0' && t[1] != '.' {
		return 0, false
	}
	n, point := int64(0), -1
	for i, c := range t {
		if d := c - '0'; d <= 9 {
			n = n*10 + int64(d)
		} else if c == '.' && point < 0 {
			point = i
		} else {
			return 0, false
		}
	}
	fraction := 0
	if point >= 0 {
		if fraction = len(t) - point - 1; point == 0 || fraction == 0 {
			return 0, false
		}
	}
	if v = float64(n) / powers[fraction]; negative {
		v = -v
	}
	return v, true
}

// csvOf reads text by a function of the reader, and gives the fields as they were found, or the error.
func csvOf(text string, parse func(*csvReader, []byte) (*csvRecord, error)) (found []string) {
	body := strings.NewReader(text)
	lines := &texts{inputs: []input{{name: "x"}}, body: io.NopCloser(body), reader: bufio.NewReader(body)}
	r := newCSVReader(lines, csvDialect{comma: ',', quote: '"'})
	copies := new(csvCopies)
	for {
		line, err := lines.here()
		if err != nil {
			return found
		}
		rec, err := parse(r, line)
		if err != nil {
			return append(found, err.Error())
		}
		for _, rec := range []csvRecord{*rec, copies.keep(rec)} {
			for i := range rec.cells {
				found = append(found, strconv.Itoa(i)+string(rec.cell(i))+strconv.FormatBool(rec.quoted(i)))
			}
		}
	}
}

// Fields are found where they stand as they are when records are put together, errors included.
func TestFieldsInPlaceAreThosePutTogether(t *testing.T) {
	r, inPlace := rand.New(rand.NewPCG(14, 5)), 0
	for range 30_000 {
		text := string(letters(r, "ab,,\"\"\n", r.IntN(16)))
		if r.IntN(2) == 0 {
			text = strings.ReplaceAll(text, "b", `,"a,b",`)
		}
		got := csvOf(text, func(r *csvReader, line []byte) (*csvRecord, error) {
			if bytes.IndexByte(line, '"') >= 0 && r.inPlace(line) {
				inPlace++
			}
			return r.parse(line)
		})
		want := csvOf(text, func(r *csvReader, line []byte) (*csvRecord, error) {
			r.record.input, r.record.line = r.lines.name(), r.lines.line
			return r.unquote(line)
		})
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
	}
	if inPlace < 4_500 {
		t.Errorf("only %d lines with quotes were read in place", inPlace)
	}
}

// Strings of JSON end where package json has them end.
func TestStringsEndWhereTheyDo(t *testing.T) {
	r, valid := rand.New(rand.NewPCG(14, 6)), 0
	for range 200_000 {
		text := append([]byte{'"'}, letters(r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé!#]\\nt\n\x1f\"", r.IntN(40))...)
		text = bytes.ToValidUTF8(text, nil)
		if r.IntN(2) == 0 {
			text = append(text, '"')
		}
		var want string
		wantErr := json.Unmarshal(text, &want)
		c := cursor{b: text}
		got, err := c.str()
		if err == nil {
			err = c.end()
		}
		if (err == nil) != (wantErr == nil) || err == nil && string(got) != want {
			t.Fatalf("%q is %q, %v, want %q, %v", text, got, err, want, wantErr)
		}
		if err == nil {
			valid++
		}
	}
	if valid < 20_000 {
		t.Errorf("only %d were strings", valid)
	}
}
