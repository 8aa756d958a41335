package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The versions that are started. docker-compose.yml names the same ones.
const (
	versitygwModule = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	fakeGCSModule   = "github.com/fsouza/fake-gcs-server@v1.56.1" // older ones ignore preconditions
	minioModule     = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
	azuritePackage  = "azurite@3.37.0"
)

// The bucket that each server has, and the account it belongs to. The keys open nothing but these servers.
const (
	bucket    = "shardcat-test"
	account   = "shardcat"
	s3Secret  = "shardcat-secret"
	s3Region  = "us-east-1"
	azureKeyN = 64 // bytes of an account key
)

// azureKey is drawn for each run.
var azureKey = func() string {
	b := make([]byte, azureKeyN)
	rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}()

// server is how one store is installed, started and reached.
type server struct {
	name    string
	install func(ctx context.Context, cache string) error
	// command starts it on a port of loopback with its data in an existing, absolute folder.
	command func(cache, data, port string) *exec.Cmd
	// ready succeeds once it answers, and makes the bucket.
	ready func(ctx context.Context, address, data string) error
	// environment is what a client exports.
	environment func(address string) []string
}

// servers in the order in which they start.
var servers = []server{
	{"s3", goInstall(versitygwModule), versitygw, folderBucket("bucket"), s3Environment("SHARDCAT_TEST_S3")},
	{"azure", npmInstall(azuritePackage), azurite, azureContainer, azureEnvironment},
	{"gcs", goInstall(fakeGCSModule), fakeGCS, folderBucket("data"), gcsEnvironment},
	{"minio", goInstall(minioModule), minio, folderBucket("data"), s3Environment("SHARDCAT_TEST_MINIO")},
}

// goInstall installs a command of a module into the cache, once.
func goInstall(module string) func(context.Context, string) error {
	return func(ctx context.Context, cache string) error {
		path, version, _ := strings.Cut(module, "@")
		return once(filepath.Join(cache, "installed", filepath.Base(path)+"@"+version), func() error {
			cmd := exec.CommandContext(ctx, "go", "install", module)
			cmd.Env = append(os.Environ(), "GOBIN="+filepath.Join(cache, "bin"), "GOFLAGS=", "GOWORK=off")
			cmd.Dir = cache // outside of any module
			return quietly(cmd)
		})
	}
}

// npmInstall installs a package into the cache, once.
func npmInstall(pkg string) func(context.Context, string) error {
	return func(ctx context.Context, cache string) error {
		return once(filepath.Join(cache, "installed", pkg), func() error {
			return quietly(exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund",
				"--prefix", filepath.Join(cache, "npm"), pkg))
		})
	}
}

// once does what has not left its mark yet.
func once(mark string, do func() error) error {
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(mark), 0o755); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return os.WriteFile(mark, nil, 0o644)
}

// quietly runs a command and shows what it printed only if it failed.
func quietly(cmd *exec.Cmd) error {
	fmt.Fprintln(os.Stderr, "testservers:", strings.Join(cmd.Args, " "))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func versitygw(cache, data, port string) *exec.Cmd {
	iam, root := filepath.Join(data, "iam"), filepath.Join(data, "bucket")
	cmd := exec.Command(filepath.Join(cache, "bin", "versitygw"), "--port", "127.0.0.1:"+port, "--region", s3Region,
		"--keep-alive", "--quiet", "--iam-dir", iam, "posix", root)
	cmd.Env = []string{"ROOT_ACCESS_KEY=" + account, "ROOT_SECRET_KEY=" + s3Secret}
	return cmd
}

func minio(cache, data, port string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(cache, "bin", "minio"), "server", "--quiet", "--address", "127.0.0.1:"+port,
		"--console-address", "127.0.0.1:0", filepath.Join(data, "data"))
	cmd.Env = []string{"MINIO_ROOT_USER=" + account, "MINIO_ROOT_PASSWORD=" + s3Secret, "HOME=" + data,
		"MINIO_UPDATE=off", "MINIO_CALLHOME_ENABLE=off"}
	return cmd
}

func azurite(cache, data, port string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(cache, "npm", "node_modules", ".bin", "azurite-blob"),
		"--blobHost", "127.0.0.1", "--blobPort", port, "--location", data,
		"--skipApiVersionCheck", "--disableTelemetry", "--silent")
	cmd.Env = []string{"AZURITE_ACCOUNTS=" + account + ":" + azureKey}
	return cmd
}

func fakeGCS(cache, data, port string) *exec.Cmd {
	return exec.Command(filepath.Join(cache, "bin", "fake-gcs-server"), "-scheme", "http", "-host", "127.0.0.1",
		"-port", port, "-public-host", "127.0.0.1:"+port, "-external-url", "http://127.0.0.1:"+port,
		"-backend", "memory", "-data", filepath.Join(data, "data"), "-log-level", "error")
}

// s3Environment names the endpoint twice: for the tests in the URL, for a person in the SDK's own variable.
func s3Environment(variable string) func(string) []string {
	return func(address string) []string {
		return []string{
			variable + "=s3://" + bucket + "?endpoint=http://" + address + "&region=" + s3Region,
			"AWS_ENDPOINT_URL_S3=http://" + address, "AWS_REGION=" + s3Region,
			"AWS_ACCESS_KEY_ID=" + account, "AWS_SECRET_ACCESS_KEY=" + s3Secret,
		}
	}
}

func azureEnvironment(address string) []string {
	return []string{
		"SHARDCAT_TEST_AZURE=abfss://" + bucket + "@" + account + ".dfs.core.windows.net?endpoint=http://" + address,
		"AZURE_STORAGE_ACCOUNT=" + account,
		"AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=" + account +
			";AccountKey=" + azureKey + ";BlobEndpoint=http://" + address + "/" + account,
	}
}

func gcsEnvironment(address string) []string {
	return []string{"SHARDCAT_TEST_GCS=gs://" + bucket + "?endpoint=http://" + address,
		"STORAGE_EMULATOR_HOST=" + address}
}
