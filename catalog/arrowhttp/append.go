package arrowhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// append answers POST /v1/tables/{table}/rows: the rows of the body become shards of the table, all or none, in a
// snapshot that appends which arrive together share. A body that breaks off adds nothing.
func (s *Server) append(w http.ResponseWriter, r *http.Request) error {
	q, err := parameters(r, appendTakes...)
	if err != nil {
		return err
	}
	format, err := bodyFormat(r)
	if err != nil {
		return err
	}
	return s.inTurnOf(r, s.cat.LoadToAppend, func(t *catalog.Table) error {
		var in *catalog.IngestResult
		err := s.withBody(t, w, r, format, func(rows fileio.Source) (err error) {
			in, err = t.Ingest(r.Context(), rows, catalog.IngestOptions{JobID: q.Get("job-id"), ShareCommit: true})
			return err
		})
		if err != nil {
			return err
		}
		return s.writeJSON(w, r, in)
	})
}

// withBody does something with the rows of the body.
func (s *Server) withBody(t *catalog.Table, w http.ResponseWriter, r *http.Request, format fileio.Format, do func(fileio.Source) error) error {
	body := &arriving{from: r.Body, control: http.NewResponseController(w), stall: s.o.Stall}
	src, err := fileio.OpenSource(r.Context(), s.cat.Client(), []string{fileio.Stdin}, fileio.SourceOptions{
		Format: format, Schema: t.Schema(), Stdin: body, NullsAsText: true, MaxMemory: s.share(),
	})
	if err != nil {
		return unread(err)
	}
	defer src.Close()
	rows := &given{Source: src}
	err = do(rows)
	if rows.err != nil {
		return unread(rows.err)
	}
	return err
}

// bodyFormat is the format of rows that are sent. Compressed ones are recognised by what they begin with.
func bodyFormat(r *http.Request) (fileio.Format, error) {
	given := r.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(given)
	for _, f := range forms {
		if media == f.media {
			return f.format, nil
		}
	}
	return "", &problem{Status: http.StatusUnsupportedMediaType, Code: "usage",
		Detail: fmt.Sprintf("Content-Type %q: rows are %s, %s or %s", given, typeArrow, typeNDJSON, typeCSV)}
}

// given are the rows of a body; err is why they could not be read, which is the sender's error and not the table's.
type given struct {
	fileio.Source
	err error
}

// Next implements fileio.Source.
func (g *given) Next(ctx context.Context) (arrow.RecordBatch, error) {
	b, err := g.Source.Next(ctx)
	if err != nil && err != io.EOF {
		g.err = err
	}
	return b, err
}

func unread(err error) *problem {
	return &problem{Status: http.StatusBadRequest, Code: "usage", Detail: "nothing was added: the body: " + err.Error()}
}

// arriving is the body of a request, whose sender must keep sending.
type arriving struct {
	from    io.Reader
	control *http.ResponseController
	stall   time.Duration
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	if err := a.control.SetReadDeadline(time.Now().Add(a.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return a.from.Read(p)
}
