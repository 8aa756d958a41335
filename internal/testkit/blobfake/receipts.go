package blobfake

import (
	"context"
	"crypto/md5"
	"hash"

	"github.com/shardcat/shardcat/blobio"
)

// Receipts is a bucket whose store states about each object that it takes the MD5 of the content, as S3 does.
type Receipts struct{ blobio.Bucket }

// Create implements blobio.Bucket.
func (b Receipts) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	w, err := b.Bucket.Create(ctx, key, opts)
	if err != nil || opts.Receipt == nil {
		return w, err
	}
	return &receiptWriter{w, md5.New(), opts.Receipt}, nil
}

type receiptWriter struct {
	blobio.Writer
	sum     hash.Hash
	receipt *blobio.Receipt
}

func (w *receiptWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.sum.Write(p[:n])
	return n, err
}

func (w *receiptWriter) Close() error {
	err := w.Writer.Close()
	if err == nil {
		w.receipt.Took([md5.Size]byte(w.sum.Sum(nil)))
	}
	return err
}
