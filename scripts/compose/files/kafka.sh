set -e
java -Xmx128m -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format --ignore-formatted --cluster-id TrialOfTheLaboratory00 --config /files/kafka.properties
exec java -Xmx384m -XX:+UseSerialGC -cp '/opt/kafka/libs/*' kafka.Kafka /files/kafka.properties
