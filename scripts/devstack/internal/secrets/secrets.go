// Package secrets keeps the secrets of one stack. They are created at its first start and stored in LAB_DIR, so that
// tokens stay valid across restarts.
package secrets

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

const (
	file        = "secrets.json"
	secretBytes = 32
)

// Secrets are 32 random bytes each, in hexadecimal. No two are equal.
type Secrets struct {
	Service   string `json:"service"`    // signs service tokens
	Mobile    string `json:"mobile"`     // bearer tokens, <PREFIX>_JWT_SECRET
	Legacy    string `json:"legacy"`     // bearer tokens, <PREFIX>_PY2_JWT_SECRET
	Ephemeral string `json:"ephemeral"`  // bearer tokens, <PREFIX>_EPHEMERAL_JWT_SECRET
	Connector string `json:"connector"`  // password of the connectors' database user
	Blob      string `json:"blob"`       // signs the URLs of stored files
	EditToken string `json:"edit_token"` // tokens of external editing sessions
	Topic     string `json:"topic"`      // derives the names of push topics
	Callback  string `json:"callback"`   // signs the task queue's callbacks
}

// Load reads the secrets of the stack in labDir. It fails before the stack's first start.
func Load(labDir string) (Secrets, error) {
	text, err := os.ReadFile(filepath.Join(labDir, file))
	if err != nil {
		return Secrets{}, fmt.Errorf("read secrets: %w", err)
	}
	var s Secrets
	if err := json.Unmarshal(text, &s); err != nil {
		return Secrets{}, fmt.Errorf("read secrets: %w", err)
	}
	return s, nil
}

// LoadOrCreate reads the secrets of the stack in labDir, and creates and stores the missing ones. Call it under
// the lock of the stack.
func LoadOrCreate(labDir string) (Secrets, error) {
	s, err := Load(labDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	complete := true
	for _, secret := range []*string{
		&s.Service, &s.Mobile, &s.Legacy, &s.Ephemeral, &s.Connector, &s.Blob, &s.EditToken, &s.Topic, &s.Callback,
	} {
		if *secret == "" {
			*secret, complete = random(), false
		}
	}
	if complete {
		return s, nil
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return Secrets{}, fmt.Errorf("write secrets: %w", err)
	}
	path := filepath.Join(labDir, file)
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		return Secrets{}, fmt.Errorf("write secrets: %w", err)
	}
	return s, os.Rename(path+".tmp", path)
}

func random() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// Gateway is the name in operators' tokens for the gateway's internal listener.
const Gateway = "gateway"

// OperatorToken returns a service token for calls of an operator to callee, valid for one minute. callee is Gateway, or
// a service that is called directly, as the gateway's internal listener does for an operator.
func (s Secrets) OperatorToken(c clock.Clock, callee string) (string, error) {
	const operator = "operator"
	secret := config.Secret(s.Service)
	if callee == Gateway {
		return authn.NewServiceTokens(secret, operator, c).Mint(Gateway, "")
	}
	return authn.NewServiceTokens(secret, Gateway, c).Mint(callee, operator)
}
