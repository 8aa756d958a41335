package s3blob

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// headers are set on each request before it is signed, beside those that the SDK sets.
type headers struct {
	all    map[string]string // on every request
	create map[string]string // on those that make an object
	data   map[string]string // on those that send or read content, with a customer's key
	source map[string]string // on those that copy such content
}

// headersVariable is the environment variable of further headers, one "NAME: VALUE" per line; they may be secrets.
const headersVariable = "SHARDCAT_STORE_HEADERS"

// headers collects what the options and the environment say.
func (o Options) headers() (h headers, err error) {
	h.all = map[string]string{}
	for line := range strings.Lines(os.Getenv(headersVariable)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if name == "" && !ok {
			continue
		}
		if !ok || strings.ContainsAny(name, " \t") {
			return h, fmt.Errorf("%s: a line that is not NAME: VALUE", headersVariable)
		}
		h.all[name] = strings.TrimSpace(value)
	}
	for name, value := range o.Headers {
		h.all[name] = value
	}
	h.create = map[string]string{}
	if o.ACL != "" {
		h.create["X-Amz-Acl"] = string(o.ACL)
	}
	if o.KMSContext != "" {
		h.create["X-Amz-Server-Side-Encryption-Context"] = base64.StdEncoding.EncodeToString([]byte(o.KMSContext))
	}
	if o.CustomerKeyFile == "" {
		return h, nil
	}
	key, err := customerKey(o.CustomerKeyFile)
	if err != nil {
		return h, err
	}
	sum := md5.Sum(key)
	h.data, h.source = map[string]string{}, map[string]string{}
	for name, value := range map[string]string{"Algorithm": "AES256", "Key": base64.StdEncoding.EncodeToString(key),
		"Key-Md5": base64.StdEncoding.EncodeToString(sum[:])} {
		h.data["X-Amz-Server-Side-Encryption-Customer-"+name] = value
		h.source["X-Amz-Copy-Source-Server-Side-Encryption-Customer-"+name] = value
	}
	return h, nil
}

// customerKey reads a key of 256 bits, as it is or in base64. What is in the file is not repeated.
func customerKey(file string) ([]byte, error) {
	const size = 32
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("sse_customer_key_file: %w", err)
	}
	if len(data) == size {
		return data, nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != size {
		return nil, fmt.Errorf("sse_customer_key_file: %s holds no key of %d bytes, as it is or in base64", file, size)
	}
	return key, nil
}

// checkContext finds what is wrong with an encryption context.
func checkContext(text string) error {
	var pairs map[string]string
	if json.Unmarshal([]byte(text), &pairs) != nil {
		return errors.New(`is not a JSON object of strings: {"name":"value"}`)
	}
	return nil
}

// of gives the headers of an operation of the SDK.
func (h headers) of(operation string) []map[string]string {
	switch operation {
	case "PutObject", "CreateMultipartUpload":
		return []map[string]string{h.all, h.create, h.data}
	case "GetObject", "HeadObject", "UploadPart":
		return []map[string]string{h.all, h.data}
	case "UploadPartCopy":
		return []map[string]string{h.all, h.data, h.source}
	}
	return []map[string]string{h.all}
}

// add is an option of the SDK's client: the headers are there when a request is signed.
func (h headers) add(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("shardcatHeaders",
		func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
			if req, ok := in.Request.(*smithyhttp.Request); ok {
				for _, set := range h.of(awsmiddleware.GetOperationName(ctx)) {
					for name, value := range set {
						req.Header.Set(name, value)
					}
				}
			}
			return next.HandleBuild(ctx, in)
		}), middleware.After)
}

// acceptEncoding is sent but not signed: front ends between here and the store change it.
const acceptEncoding = "Accept-Encoding"

// bucketPath ends the path of a request for a bucket with a slash before it is signed, as most clients of S3 do: policies of
// sessions and gateways match BUCKET/ and what is below it.
func bucketPath(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("shardcatBucketPath",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			req, ok := in.Request.(*smithyhttp.Request)
			switch awsmiddleware.GetOperationName(ctx) {
			case "ListObjectsV2", "ListObjects":
				if ok && !strings.HasSuffix(req.URL.Path, "/") {
					req.URL.Path, req.URL.RawPath = req.URL.Path+"/", ""
				}
			}
			return next.HandleFinalize(ctx, in)
		}), "ResolveEndpointV2", middleware.After)
}

// unsignedEncoding takes the header away while the request is signed.
func unsignedEncoding(stack *middleware.Stack) error {
	type key struct{}
	take := middleware.FinalizeMiddlewareFunc("shardcatTakeAcceptEncoding",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if req, ok := in.Request.(*smithyhttp.Request); ok {
				ctx = middleware.WithStackValue(ctx, key{}, req.Header.Get(acceptEncoding))
				req.Header.Del(acceptEncoding)
			}
			return next.HandleFinalize(ctx, in)
		})
	give := middleware.FinalizeMiddlewareFunc("shardcatGiveAcceptEncoding",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if req, ok := in.Request.(*smithyhttp.Request); ok {
				if value, _ := middleware.GetStackValue(ctx, key{}).(string); value != "" {
					req.Header.Set(acceptEncoding, value)
				}
			}
			return next.HandleFinalize(ctx, in)
		})
	const signing = "Signing"
	if _, signs := stack.Finalize.Get(signing); !signs {
		return nil
	}
	return errors.Join(stack.Finalize.Insert(take, signing, middleware.Before), stack.Finalize.Insert(give, signing, middleware.After))
}
