package dev.mainstem.secrets;

import java.io.IOException;
import java.net.URI;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.s3a.CredentialInitializationException;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;

/** The keys of an S3 connection, read from its secret before each request: changed keys need no restart. */
public final class S3Credentials implements AwsCredentialsProvider {

  /** The property of a bucket that names the folder of the secret. */
  private static final String FOLDER = "fs.s3a.mainstem.secret";

  private final Secret secret;

  /**
   * S3A looks for a constructor with these parameters.
   *
   * @param uri the bucket
   * @param conf the configuration, with the properties of the bucket
   */
  public S3Credentials(URI uri, Configuration conf) {
    secret = new Secret(conf.get(FOLDER, ""));
  }

  @Override
  public AwsCredentials resolveCredentials() {
    try {
      String[] keys = secret.pair("accessKey", "secretKey");
      return AwsBasicCredentials.create(keys[0], keys[1]);
    } catch (IOException | RuntimeException error) {
      throw new CredentialInitializationException("the secret of the bucket cannot be read: " + error);
    }
  }
}
