package s3blob

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/shardcat/shardcat/blobio"
)

// handedOut are credentials that an Iceberg catalog hands out, as the SDK takes them.
type handedOut struct{ ask blobio.Credentials }

// Retrieve implements aws.CredentialsProvider.
func (h handedOut) Retrieve(ctx context.Context) (aws.Credentials, error) {
	keys, expires, err := h.ask(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	c := aws.Credentials{
		AccessKeyID: keys["s3.access-key-id"], SecretAccessKey: keys["s3.secret-access-key"], SessionToken: keys["s3.session-token"],
		CanExpire: !expires.IsZero(), Expires: expires, Source: "Iceberg catalog",
	}
	if !c.HasKeys() {
		return c, errors.New("the catalog hands out no keys of S3")
	}
	return c, nil
}
