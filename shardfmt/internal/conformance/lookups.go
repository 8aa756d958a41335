package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// Lookup is an index of a case with questions and their answers.
type Lookup struct {
	// Index is the path of a bare IndexDescriptor, whose URLs are relative to its folder; Keys that of the questions, Answers that of
	// the records that answer them, a line each.
	Index   string `json:"index"`
	Keys    string `json:"keys"`
	Answers string `json:"answers"`
}

// question is a line of Keys: a term of a text index or a hash of a hash index, in 16 hexadecimal digits.
type question struct {
	Term string `json:"term,omitempty"`
	Hash string `json:"hash,omitempty"`
}

// answer is a line of Answers: the positions of the records in their stripe.
type answer struct {
	Rows []uint64 `json:"rows"`
}

// writeLookups writes the questions to the indexes of a case. Results come from the values of the table: no index was read.
func (t *table) writeLookups(ctx context.Context, client *blobio.Client, base string, c *Case) error {
	if t.indexes == "" {
		return nil
	}
	root, err := meta.OpenRoot(ctx, client, base+c.Shard, meta.Options{})
	if err != nil {
		return err
	}
	list, err := root.StripeList(ctx)
	if err != nil {
		return err
	}
	for i, s := range list.Stripes {
		indexes, err := root.StripeIndexes(ctx, i)
		if err != nil {
			return err
		}
		for k, d := range indexes.GetIndexDescriptors() {
			if d.GetIndexType() == meta.TermFilterType { // which rules stripes out, and reports no rows
				continue
			}
			path := fmt.Sprintf("%s/%s/index-%d-%d", t.level, t.name, i, k)
			l := Lookup{Index: path + ".pb", Keys: path + ".keys.ndjson", Answers: path + ".answers.ndjson"}
			first := int(s.ShardPosition)
			rows := t.answersTo(d.IndexedFields[0].SchemaIds[0], first, first+int(s.TotalRecordCount))
			keys, answers := asked(rows)
			for name, b := range map[string][]byte{l.Index: meta.Marshal(d), l.Keys: keys, l.Answers: answers} {
				if err := client.Put(ctx, base+name, b); err != nil {
					return err
				}
			}
			c.Lookups = append(c.Lookups, l)
		}
	}
	return nil
}

// answersTo gives the records from first to before end by what an index of a column, which is a node without children, is
// asked: the words of texts, the hashes of numbers.
func (t *table) answersTo(node uint32, first, end int) map[question][]uint64 {
	column := t.columns[node]
	rows := map[question][]uint64{{Term: "absent-term"}: nil}
	if column.typ != "String" {
		rows = map[question][]uint64{{Hash: "0123456789abcdef"}: nil}
	}
	for i := first; i < end; i++ {
		for _, q := range questions(column, column.value(i)) {
			if at := uint64(i - first); !slices.Contains(rows[q], at) {
				rows[q] = append(rows[q], at)
			}
		}
	}
	return rows
}

// questions that a value answers.
func questions(c column, value string) (out []question) {
	if value == "null" {
		return nil
	}
	if c.typ != "String" {
		var n int64
		if err := json.Unmarshal([]byte(value), &n); err != nil {
			panic(err) // the values are ours
		}
		key := binary.LittleEndian.AppendUint64([]byte(c.name+":"), uint64(n))
		return []question{{Hash: fmt.Sprintf("%016x", xxh3.Hash(key))}}
	}
	var text string
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		panic(err)
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		out = append(out, question{Term: strings.ToLower(word)})
	}
	return out
}

// asked are the lines of questions and answers, in the order of the questions.
func asked(rows map[question][]uint64) (keys, answers []byte) {
	all := make([]question, 0, len(rows))
	for q := range rows {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b question) int { return strings.Compare(a.Term+a.Hash, b.Term+b.Hash) })
	var k, a bytes.Buffer
	for _, q := range all {
		writeLine(&k, q)
		writeLine(&a, answer{append([]uint64{}, rows[q]...)})
	}
	return k.Bytes(), a.Bytes()
}

func writeLine(out *bytes.Buffer, v any) {
	if err := json.NewEncoder(out).Encode(v); err != nil {
		panic(err) // these can be encoded
	}
}
