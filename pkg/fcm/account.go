package fcm

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
	oauthjwt "golang.org/x/oauth2/jwt"

	"github.com/labplatform/labplatform/pkg/config"
)

const scope = "https://www.googleapis.com/auth/firebase.messaging"

// Account holds the used fields of a service account's key file.
type Account struct {
	Project string
	grant   oauthjwt.Config
}

// ReadAccount parses the JSON key file of a service account. Its errors never contain the key.
func ReadAccount(secret config.Secret) (*Account, error) {
	var file struct {
		Type       string `json:"type"`
		Project    string `json:"project_id"`
		KeyID      string `json:"private_key_id"`
		PrivateKey string `json:"private_key"`
		Email      string `json:"client_email"`
		TokenURI   string `json:"token_uri"`
	}
	if err := json.Unmarshal([]byte(secret.Reveal()), &file); err != nil {
		return nil, errors.New("the secret is not the JSON key file of a service account")
	}
	if file.Type != "service_account" || file.PrivateKey == "" || file.Email == "" {
		return nil, errors.New("the secret is not the key of a service account")
	}
	if _, err := parseAddress(file.TokenURI); err != nil {
		return nil, fmt.Errorf("token_uri: %w", err)
	}
	key := []byte(file.PrivateKey)
	if _, err := jwt.ParseRSAPrivateKeyFromPEM(key); err != nil {
		return nil, errors.New("the service account's private key cannot be read")
	}
	return &Account{Project: file.Project, grant: oauthjwt.Config{
		Email: file.Email, PrivateKey: key, PrivateKeyID: file.KeyID, Scopes: []string{scope}, TokenURL: file.TokenURI,
	}}, nil
}
