package s3blob

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// handedOut are credentials that an Iceberg catalog hands out, as the SDK takes them.
type handedOut struct{ ask blobio.Credentials }

// Retrieve implements aws.CredentialsProvider.
func (h handedOut) Retrieve(ctx context.Context) (aws.Credentials, error) {
	keys, _, err := h.ask(ctx)
	if err != nil {
		return aws.Credentials{}, &apierror.HandedOut{Err: err}
	}
	c := aws.Credentials{
		AccessKeyID: keys["s3.access-key-id"], SecretAccessKey: keys["s3.secret-access-key"], SessionToken: keys["s3.session-token"],
		CanExpire: true, Source: "Iceberg catalog", // expired at once: the SDK keeps none that the catalog replaced
	}
	if !c.HasKeys() {
		return c, &apierror.HandedOut{Err: errors.New("the catalog vends no S3 credentials for this location")}
	}
	return c, nil
}
