package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// azureVersion is the protocol that the request for the container speaks.
const azureVersion = "2021-12-02"

// folderBucket is for servers whose buckets are folders below their data folder: it makes one, and is done
// when the server listens.
func folderBucket(root string) func(context.Context, string, string) error {
	return func(ctx context.Context, address, data string) error {
		if err := os.MkdirAll(filepath.Join(data, root, bucket), 0o755); err != nil {
			return err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// azureContainer requests the container with the account's key.
func azureContainer(ctx context.Context, address, _ string) error {
	target := "http://" + address + "/" + account + "/" + bucket + "?restype=container"
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, target, nil)
	if err != nil {
		return err
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	req.Header.Set("X-Ms-Date", date)
	req.Header.Set("X-Ms-Version", azureVersion)
	req.Header.Set("Authorization", "SharedKey "+account+":"+signature(date))
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusCreated && answer.StatusCode != http.StatusConflict {
		return fmt.Errorf("making the container: %s", answer.Status)
	}
	return nil
}

// signature signs the request of azureContainer by the rules of shared keys: the method, eleven headers that
// it has not, the x-ms headers, and the resource, in which an emulator names the account twice.
func signature(date string) string {
	key, err := base64.StdEncoding.DecodeString(azureKey)
	if err != nil {
		panic(err) // it was drawn by this process
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprint(mac, http.MethodPut, strings.Repeat("\n", 12),
		"x-ms-date:", date, "\nx-ms-version:", azureVersion,
		"\n/", account, "/", account, "/", bucket, "\nrestype:container")
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
