package foreign

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// commas are what parts the fields of CSV, likelier ones first.
var commas = []byte{',', '\t', ';', '|'}

// CommaNames are the separators of CSV fields that have a name on the command line.
var CommaNames = map[string]byte{"comma": ',', "tab": '\t', `\t`: '\t', "semicolon": ';', "pipe": '|', "space": ' ', "colon": ':'}

// ParseComma reads a separator of CSV fields: a name of CommaNames, or the byte itself.
func ParseComma(text string) (byte, error) {
	if c, ok := CommaNames[text]; ok {
		return c, nil
	}
	if len(text) != 1 {
		return 0, fmt.Errorf("%q: one byte, or comma, tab, semicolon, pipe, space, colon", text)
	}
	return text[0], nil
}

// nameComma is how people read a separator.
func nameComma(c byte) string {
	for _, name := range []string{"tab", "space"} {
		if CommaNames[name] == c {
			return name
		}
	}
	return string(rune(c))
}

// Sniffing looks at this many records, in this many bytes at most.
const (
	sniffRecords = 50
	sniffBytes   = 256 << 10
)

// sniffComma tells the separator of an input from its first records: the one by which most of them have as many fields
// as the first, and among equals the one that makes most fields. A name that ends in .tsv means tabs.
func sniffComma(r *bufio.Reader, name string) byte {
	if strings.Contains(strings.ToLower(name), ".tsv") {
		return '\t'
	}
	head := ahead(r, sniffBytes)
	best, bestShare, bestFields := byte(','), 0.0, 1
	for _, comma := range commas {
		fields, share := consistency(head, comma, len(head) < sniffBytes)
		if fields > 1 && (share > bestShare || share == bestShare && fields > bestFields) {
			best, bestShare, bestFields = comma, share, fields
		}
	}
	return best
}

// ahead gives what a reader holds next, up to n bytes: whole lines as far as they are there already.
func ahead(r *bufio.Reader, n int) []byte {
	for {
		head, _ := r.Peek(min(r.Buffered(), n))
		if len(head) == n || bytes.Count(head, []byte("\n")) > sniffRecords {
			return head
		}
		if _, err := r.Peek(len(head) + 1); err != nil {
			return head
		}
	}
}

// consistency counts the fields of the first record by a separator, and the share of records that have as many. What
// stands in quotes parts nothing. whole tells that the last record is whole.
func consistency(head []byte, comma byte, whole bool) (fields int, share float64) {
	var counts []int
	count, quoted := 1, false
	for _, b := range head {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == comma:
			count++
		case b == '\n':
			counts, count = append(counts, count), 1
		}
		if len(counts) == sniffRecords {
			break
		}
	}
	if whole && len(head) > 0 && head[len(head)-1] != '\n' || len(counts) == 0 {
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
func (in *inference) sniffHeader(r *bufio.Reader, comma byte, names map[string]int) bool {
	head := ahead(r, sniffBytes)
	if len(head) == sniffBytes { // the last line may be cut
		if end := bytes.LastIndexByte(head, '\n'); end >= 0 {
			head = head[:end+1]
		}
	}
	records := &csvReader{comma: comma, lines: &texts{
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
// number, a time or the like where the fields below it are of the same kind.
func (in *inference) looksLikeHeader(first *csvRecord, below []csvRecord) bool {
	for i := range first.cells {
		k := in.kindOf(first, i)
		if k == kindNone || k == kindText && !in.isInstant(first.cell(i)) {
			continue
		}
		same := true
		for j := range below {
			if i < len(below[j].cells) {
				other := in.kindOf(&below[j], i)
				same = same && (other == kindNone || other == k && (k != kindText || in.isInstant(below[j].cell(i))))
			}
		}
		if same {
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
	return cellKind(text)
}

// isInstant reports whether a text is a point in time.
func (in *inference) isInstant(text []byte) bool {
	_, _, _, err := in.times.parse(bytes.Trim(text, " "))
	return err == nil
}
