package seed

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// decodeDocuments converts the fixture's relaxed extended JSON, such as {"$oid":…} and {"$date":…}, to documents by
// collection.
func decodeDocuments(collections []Collection) (map[string][]bson.D, error) {
	decoded := map[string][]bson.D{}
	for _, collection := range collections {
		for i, raw := range collection.Documents {
			var document bson.D
			if err := bson.UnmarshalExtJSON(raw, false, &document); err != nil {
				return nil, fmt.Errorf("mongo.%s, document %d: %w", collection.Name, i, err)
			}
			decoded[collection.Name] = append(decoded[collection.Name], document)
		}
	}
	return decoded, nil
}

// writeCollections replaces documents that have an _id and inserts the others.
func writeCollections(
	ctx context.Context,
	database *mongo.Database,
	fixture *Fixture,
	documents map[string][]bson.D,
) error {
	for _, collection := range fixture.Mongo {
		target := database.Collection(collection.Name)
		if fixture.Clear {
			if _, err := target.DeleteMany(ctx, bson.D{}); err != nil {
				return fmt.Errorf("clear collection %s: %w", collection.Name, err)
			}
		}
		for i, document := range documents[collection.Name] {
			if err := putDocument(ctx, target, document); err != nil {
				return fmt.Errorf("collection %s, document %d: %w", collection.Name, i, err)
			}
		}
	}
	return nil
}

func putDocument(ctx context.Context, target *mongo.Collection, document bson.D) error {
	for _, element := range document {
		if element.Key == "_id" {
			_, err := target.ReplaceOne(ctx, bson.D{element}, document, options.Replace().SetUpsert(true))
			return err
		}
	}
	_, err := target.InsertOne(ctx, document)
	return err
}
