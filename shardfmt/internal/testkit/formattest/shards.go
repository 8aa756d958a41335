package formattest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const shardsAbout = "Whole shards of one object: unions, records that are marked as deleted, and the artifacts of indexes, which are shards too. `holds` has their records that are not deleted as lines of JSON, in the form of conformance.md; what an index was built from stands in the name."

// kindShard is a whole object.
const kindShard = "shard"

// shards collects vectors that are whole shards; the first error stays.
type shards struct {
	client  *blobio.Client
	vectors []Vector
	err     error
}

func shardFile() (*File, error) {
	s := &shards{client: blobio.NewClient(blobio.ClientOptions{})}
	defer s.client.Close()
	unionShards(s)
	deletedShards(s)
	textIndexes(s)
	hashIndexes(s)
	return &File{Name: "shards", About: shardsAbout, Vectors: s.vectors}, s.err
}

func unionShards(s *shards) {
	const one, other = `{"u":7}`, `{"u":"text"}`
	s.rows("a union of two variants", `u: Union<Int64, String>`, shardfmt.WriterOptions{}, one, other, `{"u":8}`)
	s.rows("a union with nulls, and a variant that nothing has", `u: Union<Int64, String, Boolean>`, shardfmt.WriterOptions{}, one, `{"u":null}`, other)
	s.rows("the same in the sparse form: OFFSETS into variants without gaps", `u: Union<Int64, String, Boolean>`,
		shardfmt.WriterOptions{SparseUnions: true}, one, `{"u":null}`, other)
	s.rows("unions in lists", `l: List<Union<Int64, String>>`, shardfmt.WriterOptions{}, `{"l":[7,"text"]}`, `{"l":[]}`, `{"l":null}`, `{"l":[null,8]}`)
}

// marked is the schema of numbers with the field that marks deleted records.
const marked = `{"fields":[{"name":"","type":"Boolean","internal":"Kusto.Amudai.DeletedRecord"},{"name":"n","type":"Int32"}]}`

func deletedShards(s *shards) {
	line := func(n int, gone string) string { return fmt.Sprintf(`{"":%s,"n":%d}`, gone, n) }
	s.rowsLeft("two of four records are deleted; null is not deleted", marked, shardfmt.WriterOptions{}, []string{`{"n":2}`, `{"n":3}`},
		line(1, "true"), line(2, "false"), line(3, "null"), line(4, "true"))
	s.rowsLeft("a stripe of which nothing is left, before one that is whole", marked, shardfmt.WriterOptions{StripeRows: 2}, []string{`{"n":3}`, `{"n":4}`},
		line(1, "true"), line(2, "true"), line(3, "false"), line(4, "false"))
	s.rowsLeft("a marker that marks nothing", marked, shardfmt.WriterOptions{}, []string{`{"n":1}`, `{"n":2}`}, line(1, "false"), line(2, "false"))
}

func textIndexes(s *shards) {
	s.text("of the records `one two`, `Two`, `` and `three one`, which ignores case", "one two", "Two", "", "three one")
	near, far := make([]string, 200), make([]string, 400)
	for i := range near {
		near[i] = "all"
	}
	for i := range far {
		if i%3 == 0 || i == 1 {
			far[i] = "third"
		}
	}
	s.text("of 200 records `all`: an exact range", near...)
	s.text("of 400 records of which the second and each third are `third`, the others empty: an approximate range", far...)
}

func hashIndexes(s *shards) {
	s.hashes("of the hash 5 of the records 0 and 3 and the hash 6 of record 1, in one partition", 0, [2]uint64{5, 0}, [2]uint64{6, 1}, [2]uint64{5, 3})
	s.hashes("of the hash 9 of record 2 and the hash 2^63 + 1 of record 4, in two partitions", 1, [2]uint64{9, 2}, [2]uint64{1<<63 + 1, 4})
	s.hashes("of nothing, in one partition", 0)
}

// rows adds a shard of lines of JSON, which are what it holds.
func (s *shards) rows(name, fields string, o shardfmt.WriterOptions, lines ...string) {
	s.rowsLeft(name, fields, o, lines, lines...)
}

// rowsLeft adds a shard of lines of JSON of which some are left.
func (s *shards) rowsLeft(name, fields string, o shardfmt.WriterOptions, left []string, lines ...string) {
	url := s.url()
	o.Layout, o.Workers = shardfmt.Single, 1
	before := len(s.vectors)
	s.take(name, url, s.write(url, fields, o, lines))
	if got := s.vectors[before:]; len(got) == 1 && !slices.Equal(got[0].Holds["rows"].([]string), left) && s.err == nil {
		s.err = fmt.Errorf("vector %q holds %v, not %v", name, got[0].Holds["rows"], left)
	}
}

// url is that of the next shard.
func (s *shards) url() string {
	return fmt.Sprintf("mem://vectors-%d/shard.amudai.shard", len(s.vectors))
}

func (s *shards) write(url, fields string, o shardfmt.WriterOptions, lines []string) error {
	ctx := context.Background()
	types, err := schema.Parse(fields)
	if err != nil {
		return err
	}
	src, err := fileio.OpenSource(ctx, s.client, []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: types, Stdin: strings.NewReader(strings.Join(lines, "\n")),
	})
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := shardfmt.NewWriter(ctx, s.client, url, src.Schema(), o)
	if err != nil {
		return err
	}
	for err == nil {
		var b arrow.RecordBatch
		if b, err = src.Next(ctx); err == nil {
			err = w.Write(ctx, b)
		}
	}
	if err != io.EOF {
		return err
	}
	_, err = w.Close(ctx)
	return err
}

// text adds the artifacts of a text index of records.
func (s *shards) text(name string, records ...string) {
	tokenizer, err := textindex.ParseTokenizer("unicode-word")
	url := s.url()
	var objects []textindex.Object
	if err == nil {
		b := textindex.NewBuilder(textindex.CaseInsensitive, []textindex.Field{{ID: 1, Tokenizer: tokenizer}})
		for i, r := range records {
			if err == nil {
				err = b.Add(0, uint64(i), []byte(r))
			}
		}
		if err == nil {
			_, objects, err = b.Write(context.Background(), s.indexTarget(url, "text0-"))
		}
	}
	for i, part := range []string{"terms", "positions"} {
		if i < len(objects) {
			url = objects[i].URL
		}
		s.take(fmt.Sprintf("%s of a text index %s", part, name), url, err)
	}
}

// hashes adds the partitions of a hash index of pairs of hash and position.
func (s *shards) hashes(name string, bits int, pairs ...[2]uint64) {
	b := hashindex.NewBuilder(bits)
	for _, p := range pairs {
		b.Add(p[0], p[1])
	}
	url := s.url()
	_, objects, err := b.Write(context.Background(), s.indexTarget(url, "hash0-"), hashindex.Type)
	for i, o := range objects {
		s.take(fmt.Sprintf("partition %d of a hash index %s", i, name), o.URL, err)
	}
	if len(objects) == 0 {
		s.take(name, url, err)
	}
}

// indexTarget is where an index of the shard at url is written, with names that continue that of its folder.
func (s *shards) indexTarget(url, name string) shardwriter.IndexTarget {
	return shardwriter.IndexTarget{Store: s.client, Root: url, Prefix: strings.TrimSuffix(url, "shard.amudai.shard") + name}
}

// take adds the shard at url, if it was written.
func (s *shards) take(name, url string, err error) {
	ctx := context.Background()
	var b []byte
	var lines []string
	if err == nil {
		b, err = settled(ctx, s.client, url)
	}
	if err == nil {
		lines, err = rowsOf(ctx, b)
	}
	if err == nil {
		err = s.client.Delete(ctx, url, "") // the store outlives the client
	}
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("vector %q: %w", name, err)
		}
		return
	}
	s.vectors = append(s.vectors, Vector{Name: name, Count: len(lines), Bytes: hexLines(b), Holds: map[string]any{"kind": kindShard, "rows": lines}})
}

// settled is a shard whose creation time is always the same.
func settled(ctx context.Context, client *blobio.Client, url string) ([]byte, error) {
	b, _, err := client.ReadAll(ctx, url, 1<<20)
	if err != nil {
		return nil, err
	}
	root, err := meta.OpenRoot(ctx, client, url, meta.Options{})
	if err != nil {
		return nil, err
	}
	r := root.Directory().GetPropertiesRef().GetRange()
	frame := b[r.GetStart():r.GetEnd()]
	payload := frame[4 : len(frame)-4]
	p := new(metapb.ShardProperties)
	if err := proto.Unmarshal(payload, p); err != nil {
		return nil, err
	}
	at := &metapb.DateTimeUtc{Ticks: shardTime}
	p.CreationMin, p.CreationMax = at, at
	if copy(payload, meta.Marshal(p)) != proto.Size(p) {
		return nil, fmt.Errorf("the properties of %s have another length with another time", url)
	}
	binary.LittleEndian.PutUint32(frame[len(frame)-4:], meta.Checksum(payload))
	return b, nil
}

// rowsOf reads the records of a shard, a line each.
func rowsOf(ctx context.Context, b []byte) ([]string, error) {
	shard, err := shardfmt.OpenReaderAt(ctx, bytes.NewReader(b), int64(len(b)), shardfmt.OpenOptions{})
	if err != nil {
		return nil, err
	}
	types, err := shard.Project(ctx, nil, false)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &out, types, fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		if err := sink.Write(b); err != nil {
			return nil, err
		}
	}
	if err := sink.Close(); err != nil {
		return nil, err
	}
	lines := strings.Split(out.String(), "\n")
	return lines[:len(lines)-1], nil
}
