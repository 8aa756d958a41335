package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// source gives the log batch by batch.
type source = iter.Seq2[arrow.RecordBatch, error]

// logOf is what was made of a log.
type logOf struct {
	Lines     int
	Text, All int64 // bytes of messages, of all values
	Queries   []query
}

// makeLog writes the log as an Arrow file into a folder, unless it is there.
func makeLog(dir string, lines int) (path string, l *logOf, err error) {
	path = filepath.Join(dir, "log.arrow")
	l = new(logOf)
	if err := readJSON(filepath.Join(dir, "log.json"), l); err == nil && l.Lines == lines {
		return path, l, nil
	}
	g := newGenerator(lines)
	f, err := os.Create(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<20)
	w, err := ipc.NewFileWriter(b, ipc.WithSchema(fields))
	if err != nil {
		return "", nil, err
	}
	for batch := g.batch(); batch != nil; batch = g.batch() {
		if err := w.Write(batch); err != nil {
			return "", nil, err
		}
	}
	if err := errors.Join(w.Close(), b.Flush(), f.Sync()); err != nil {
		return "", nil, err
	}
	*l = logOf{lines, g.text, g.all, queries(g)}
	return path, l, writeJSON(filepath.Join(dir, "log.json"), l)
}

// readLog gives the batches of an Arrow file.
func readLog(path string) source {
	return func(yield func(arrow.RecordBatch, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		r, err := ipc.NewFileReader(f)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for i := range r.NumRecords() {
			if b, err := r.RecordBatchAt(i); !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// sizeOf is how many bytes the files of a folder have together, those of whose names is reports true.
func sizeOf(dir string, is func(name string) bool) (n int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if rel, _ := filepath.Rel(dir, path); err == nil && is(rel) {
			n += info.Size()
		}
		return err
	})
	return n, err
}
