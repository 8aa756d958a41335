package fileio

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
)

// commas are what parts the fields of CSV, likelier ones first.
var commas = []byte{',', '\t', ';', '|'}

// nameComma is how people read a separator.
func nameComma(c byte) string {
	switch c {
	case '\t':
		return "tab"
	case ' ':
		return "space"
	}
	return string(rune(c))
}

// Sniffing looks at this many records, in this many bytes at most.
const (
	sniffRecords = 50
	sniffBytes   = 256 << 10
)

// sniffComma reports the separator of an input from its first records: the one by which most of them have as many fields
// as the first, and among equals the one that makes most fields. A name that ends in .tsv means tabs.
func sniffComma(t *texts, d csvDialect) byte {
	if strings.Contains(strings.ToLower(t.name()), ".tsv") {
		return '\t'
	}
	head := ahead(t, sniffBytes)
	best, bestShare, bestFields := byte(','), 0.0, 1
	for _, comma := range commas {
		d.comma = comma
		fields, share := consistency(head, d, len(head) < sniffBytes)
		if fields > 1 && (share > bestShare || share == bestShare && fields > bestFields) {
			best, bestShare, bestFields = comma, share, fields
		}
	}
	return best
}

// ahead gives what a reader holds next, up to n bytes: whole lines as far as they are there already.
func ahead(t *texts, n int) []byte {
	r := t.reader
	if t.ahead != nil {
		t.ahead.noWait = true
		defer func() { t.ahead.noWait = false }()
	}
	for {
		head, _ := r.Peek(min(r.Buffered(), n))
		if len(head) == n || max(bytes.Count(head, []byte("\n")), bytes.Count(head, []byte("\r"))) > sniffRecords {
			return head
		}
		if _, err := r.Peek(len(head) + 1); err != nil {
			head, _ = r.Peek(len(head)) // what was buffered may have moved
			return head
		}
	}
}

// consistency counts the fields of the first record by a separator, and the share of records that have as many. What
// stands in quotes parts nothing. whole means that the last record is whole.
func consistency(head []byte, d csvDialect, whole bool) (fields int, share float64) {
	var counts []int
	count, quoted, start := 1, false, true // start: of a field
	for i := 0; i < len(head) && len(counts) < sniffRecords; i++ {
		b := head[i]
		begins := start
		start = false
		switch {
		case d.escape != 0 && b == d.escape:
			i++
		case quoted:
			quoted = b != d.quote || i+1 < len(head) && head[i+1] == d.quote && d.quote != 0
			if b == d.quote && quoted {
				i++ // doubled
			}
		case begins && b == d.quote && d.quote != 0:
			quoted = true
		case b == d.comma:
			count, start = count+1, true
		case b == '\n' || b == '\r':
			if start = true; b == '\n' && i > 0 && head[i-1] == '\r' {
				continue
			}
			counts, count = append(counts, count), 1
		}
	}
	if last := len(head) - 1; whole && last >= 0 && head[last] != '\n' && head[last] != '\r' || len(counts) == 0 {
		counts = append(counts, count)
	}
	same := 0
	for _, c := range counts {
		if c == counts[0] {
			same++
		}
	}
	return counts[0], float64(same) / float64(len(counts))
}

// sniffHeader reports whether an input begins with the names of its fields; names are those that a schema knows.
func (in *inference) sniffHeader(t *texts, d csvDialect, names map[string]int) bool {
	head := ahead(t, sniffBytes)
	if len(head) == sniffBytes { // the last line may be cut
		if end := bytes.LastIndexAny(head, "\r\n"); end >= 0 {
			head = head[:end+1]
		}
	}
	records := &csvReader{csvDialect: d, begun: true, lines: &texts{
		inputs: []input{{name: "head"}}, body: io.NopCloser(nil), reader: bufio.NewReader(bytes.NewReader(head)),
	}}
	var all []csvRecord
	var copies csvCopies
	for len(all) < sniffRecords {
		rec, _, err := records.next(context.Background())
		if err != nil {
			break
		}
		all = append(all, copies.keep(rec))
	}
	if len(all) == 0 {
		return true
	}
	for i := range all[0].cells {
		if _, known := names[string(all[0].cell(i))]; known {
			return true
		}
	}
	return in.looksLikeHeader(&all[0], all[1:])
}

// looksLikeHeader reports whether the first record names the fields of the others: whether none of its fields is a
// number, a time or the like where the fields below it are of the same kind, and written alike: names in quotes above numbers without
// stay names. Numbers behind a first field that is empty, as the head of a column of row names is, are names too if they count up, and so are
// years behind texts.
func (in *inference) looksLikeHeader(first *csvRecord, below []csvRecord) bool {
	if in.countsUp(first, below) || in.yearsAbove(first, below) {
		return true
	}
	for i := range first.cells {
		k := in.kindOf(first, i)
		if k == kindNone || k == kindText && !in.isInstant(first.cell(i)) {
			continue
		}
		same, quoted := true, len(below) == 0
		for j := range below {
			if i < len(below[j].cells) {
				other := in.kindOf(&below[j], i)
				same = same && (other == kindNone || other == k && (k != kindText || in.isInstant(below[j].cell(i))))
				quoted = quoted || other != kindNone && below[j].quoted(i)
			}
		}
		if same && (quoted || !first.quoted(i)) {
			return false
		}
	}
	return true
}

// countsUp reports whether a record is an empty field and different whole numbers that go up by one, and the first fields below it
// are not empty: so tables with numbered columns, or one for each year, are written.
func (in *inference) countsUp(first *csvRecord, below []csvRecord) bool {
	if len(first.cells) < 2 || len(below) == 0 || len(first.cell(0)) > 0 {
		return false
	}
	for j := range below {
		if len(below[j].cell(0)) == 0 {
			return false
		}
	}
	return numbersUp(first, 1, len(first.cells))
}

// numbersUp reports whether the fields from one to before another are whole numbers that go up by one.
func numbersUp(r *csvRecord, from, to int) bool {
	before := int64(0)
	for i := from; i < to; i++ {
		n, ok := wholeNumber(r, i)
		if !ok || i > from && n != before+1 {
			return false
		}
		before = n
	}
	return true
}

// wholeNumber is the value of a field that is a whole number.
func wholeNumber(r *csvRecord, i int) (int64, bool) {
	return plainInteger(bytes.Trim(r.cell(i), " "))
}

// yearsAbove reports whether a record is one text or more and then at least two years that go up by one, above records of which none has
// years alone there: so tables with a column for each year are written. One more field that is empty may follow, as in those of the World Bank.
func (in *inference) yearsAbove(first *csvRecord, below []csvRecord) bool {
	from, to := 0, len(first.cells)
	for from < to && in.kindOf(first, from) == kindText && !in.isInstant(first.cell(from)) {
		from++
	}
	if to > 0 && len(first.cell(to-1)) == 0 {
		to--
	}
	if from == 0 || to-from < 2 || len(below) == 0 {
		return false
	}
	return numbersUp(first, from, to) && years(first, from, to) && !slices.ContainsFunc(below, func(r csvRecord) bool {
		return years(&r, from, min(to, len(r.cells)))
	})
}

// years reports whether the fields from one to before another may be years of statistics.
func years(r *csvRecord, from, to int) bool {
	for i := from; i < to; i++ {
		if n, ok := wholeNumber(r, i); !ok || n < 1700 || n > 2200 {
			return false
		}
	}
	return true
}

// kindOf is the kind of a field; kindNone if it stands for null.
func (in *inference) kindOf(rec *csvRecord, i int) kind {
	text := bytes.Trim(rec.cell(i), " ")
	if in.nulls[string(text)] {
		return kindNone
	}
	k, _ := in.numbers.kind(text)
	return k
}

// isInstant reports whether a text is a point in time.
func (in *inference) isInstant(text []byte) bool {
	_, _, _, err := in.times.parse(bytes.Trim(text, " "))
	return err == nil
}
