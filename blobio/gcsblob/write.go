package gcsblob

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/blobio/internal/upload"
)

// castagnoli is the polynomial of the checksum that GCS keeps of each object.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ifAbsent is the condition that there is no object: generation 0.
var ifAbsent = storage.Conditions{DoesNotExist: true}

// beforeWrite sets what goes with an object of one part, and the key as it is.
func (b *bucket) beforeWrite(as func(any) bool, w cloudblob.Write) error {
	var object **storage.ObjectHandle
	var to *storage.Writer
	if !as(&object) {
		return errHook
	}
	*object = b.handle.Object(w.Key).If(ifAbsent)
	if !as(&to) {
		return errHook
	}
	b.setOptions(to, w.ContentType)
	to.ChunkSize = 0 // one request
	to.SendCRC32C, to.CRC32C = true, crc32.Checksum(w.Body, castagnoli)
	return nil
}

func (b *bucket) setOptions(w *storage.Writer, contentType string) {
	w.ContentType, w.StorageClass, w.KMSKeyName = contentType, b.opts.StorageClass, b.opts.KMSKey
}

// probe sends an object whose checksum is that of another body.
func (b *bucket) probe(ctx context.Context, key string) (refused bool, err error) {
	w := b.handle.Object(key).If(ifAbsent).NewWriter(ctx)
	w.ChunkSize = 0
	w.SendCRC32C, w.CRC32C = true, crc32.Checksum([]byte("another body"), castagnoli)
	_, err = io.WriteString(w, "shardcat")
	err = errors.Join(err, w.Close())
	var said *googleapi.Error
	if errors.As(err, &said) && said.Code == http.StatusBadRequest {
		return true, nil
	}
	return false, err
}

// parts is the upload of one object in parts: the body of one resumable session, which the library runs beside the
// caller. The condition stands on the request that begins it, and the store checks it again when it makes the object.
type parts struct {
	b           *bucket
	object      *storage.ObjectHandle
	contentType string
	w           *storage.Writer
	cancel      context.CancelFunc
	size        int64
	crc         uint32
}

func (b *bucket) parts(key, contentType string) cloudblob.Parts {
	return &parts{b: b, object: b.handle.Object(key), contentType: contentType}
}

// Begin implements cloudblob.Parts. The session outlives ctx, which ends with this call; see during.
func (p *parts) Begin(ctx context.Context) error {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.w = p.object.If(ifAbsent).NewWriter(ctx)
	p.b.setOptions(p.w, p.contentType)
	p.w.ChunkSize = upload.DefaultPartSize
	if p.b.opts.PartSize > 0 {
		p.w.ChunkSize = p.b.opts.PartSize
	}
	return nil
}

// during ends the session if ctx ends before the function that it returns is called.
func (p *parts) during(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, p.cancel)
}

// Part implements cloudblob.Parts.
func (p *parts) Part(ctx context.Context, _ int, body []byte) error {
	defer p.during(ctx)()
	p.size += int64(len(body))
	p.crc = crc32.Update(p.crc, castagnoli, body)
	_, err := p.w.Write(body)
	return err
}

// Commit implements cloudblob.Parts.
func (p *parts) Commit(ctx context.Context, _ int, _ bool) error {
	defer p.cancel()
	defer p.during(ctx)()
	if err := p.w.Close(); err != nil {
		return err
	}
	made := p.w.Attrs()
	if made.Size == p.size && (made.CRC32C == 0 || made.CRC32C == p.crc) { // a store that states nothing is believed
		return nil
	}
	return p.unmake(ctx, made)
}

// unmake removes an object that is not what was sent: a chunk that the library had to repeat may be there
// twice on a store that does not look at its offset.
func (p *parts) unmake(ctx context.Context, made *storage.ObjectAttrs) error {
	err := fmt.Errorf("%w: the store has %d bytes with checksum %08x of the %d that were sent", blobio.ErrTransient,
		made.Size, made.CRC32C, p.size)
	return errors.Join(err, p.b.remove(ctx, p.object.ObjectName(), strconv.FormatInt(made.Generation, 10)))
}

// Drop implements cloudblob.Parts: a session that is not brought to its end leaves nothing.
func (p *parts) Drop(context.Context) error {
	p.cancel()
	_ = p.w.Close() // waits for the library to give up
	return nil
}

// remove deletes an object. The condition goes with the request.
func (b *bucket) remove(ctx context.Context, key, etag string) error {
	return ifMatch(b.handle.Object(key), etag).Delete(ctx)
}
