package dev.mainstem.secrets;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.provider.ConfigProvider;

/**
 * Values of secrets for Kafka's clients, which read them whenever they start: options and plans have only references.
 *
 * <p>A reference is {@code ${mainstem:<folder of the secret>:<key>}}. The keys {@value #PLAIN} and {@value #SCRAM} stand for
 * a whole JAAS configuration with the secret's username and password.
 */
public final class KafkaSecrets implements ConfigProvider {

  static final String PLAIN = "jaas.plain";
  static final String SCRAM = "jaas.scram";

  private static final String MODULES = "org.apache.kafka.common.security.";

  @Override
  public ConfigData get(String folder, Set<String> keys) {
    Secret secret = new Secret(folder);
    Map<String, String> values = new HashMap<>();
    for (String key : keys) {
      try {
        values.put(key, value(secret, key));
      } catch (IOException error) {
        throw new ConfigException("the secret cannot be read: " + error);
      }
    }
    return new ConfigData(values);
  }

  @Override
  public ConfigData get(String folder) {
    return new ConfigData(Map.of());
  }

  @Override
  public void configure(Map<String, ?> properties) {}

  @Override
  public void close() {}

  private static String value(Secret secret, String key) throws IOException {
    return switch (key) {
      case PLAIN -> jaas(secret, "plain.Plain");
      case SCRAM -> jaas(secret, "scram.Scram");
      default -> secret.value(key);
    };
  }

  private static String jaas(Secret secret, String module) throws IOException {
    String[] user = secret.pair("username", "password");
    return MODULES + module + "LoginModule required username=" + quoted(user[0]) + " password=" + quoted(user[1]) + ";";
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
