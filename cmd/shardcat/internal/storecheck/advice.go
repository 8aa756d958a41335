package storecheck

import (
	"errors"
	"net/http"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// permissions are what a scheme calls the right to do something.
var permissions = map[string]map[string]string{
	"s3": {"list": "s3:ListBucket", "write": "s3:PutObject", "read": "s3:GetObject", "delete": "s3:DeleteObject",
		"multipart": "s3:PutObject and s3:AbortMultipartUpload"},
	"gs": {"list": "storage.objects.list", "write": "storage.objects.create", "read": "storage.objects.get",
		"delete": "storage.objects.delete", "multipart": "storage.objects.create"},
	"abfss": {"list": "Storage Blob Data Contributor", "write": "Storage Blob Data Contributor",
		"read": "Storage Blob Data Reader", "delete": "Storage Blob Data Contributor",
		"multipart": "Storage Blob Data Contributor"},
	"file": {"list": "read and execute permission of the folder", "write": "write permission of the folder",
		"read": "read permission of the folder", "delete": "write permission of the folder",
		"multipart": "write permission of the folder"},
}

// advice is what to do about a class of errors.
var advice = map[error]string{
	blobio.ErrNotFound:  "create the bucket, or correct its name",
	blobio.ErrThrottled: "try again later, or ask the provider for a higher limit",
	blobio.ErrTransient: "check endpoint, network and DNS",
	blobio.ErrCanceled:  "wait until it ends",
	blobio.ErrConflict:  "try again",
}

// right is what the store calls the right to do something.
func (e *examination) right(doing, otherwise string) string {
	scheme, _, _ := strings.Cut(e.report.Location, "://")
	if right := permissions[scheme][doing]; right != "" {
		return right
	}
	return otherwise
}

// refused is the finding of a check that the store did not let happen.
func (e *examination) refused(doing string, err error) Finding {
	class := blobio.Class(err)
	do := advice[class]
	if class == blobio.ErrTransient || class == blobio.ErrThrottled {
		e.failed["mount"] = true // the other checks would wait as long for the same
	}
	if class == blobio.ErrDenied {
		do = "check the credentials"
		if right := e.right(doing, ""); right != "" {
			do += " and grant " + right
		}
	}
	var said *apierror.Error
	if errors.As(err, &said) && (said.Status == http.StatusConflict || said.Status == http.StatusPreconditionFailed) {
		do = "follow the store's message; permissions are not the cause"
	}
	if errors.Is(err, blobio.ErrNoCondition) || errors.As(err, &said) && said.Status == http.StatusNotImplemented {
		return unsafe(err.Error())
	}
	if do == "" {
		do = "see docs/guides/object-stores.md for what this store needs"
	}
	return wrong(err.Error(), do)
}
