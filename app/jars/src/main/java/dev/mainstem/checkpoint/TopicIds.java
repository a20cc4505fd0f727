package dev.mainstem.checkpoint;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * Stores the ids of the topics that a stream reads, before Spark plans each of its batches.
 *
 * <p>A topic that is deleted and created again has another id. If a driver is killed after a batch has read the new topic,
 * its next start must know the new id; otherwise it would read the records of the batch again. So a new id is written below
 * the checkpoint, as the empty file {@code topics/<source>/<topic>/<id>}, before the plan of the batch.
 *
 * <p>{@code mainstem.runtime.supervision.renewals} passes the topics of streams that continue after data loss; all other
 * streams fail.
 */
public final class TopicIds {

  private static final Map<String, TopicIds> WATCHED = new ConcurrentHashMap<>();
  private static final Duration CLOSING = Duration.ofSeconds(1);

  private final FileSystem files;
  private final Path checkpoint;
  private final Map<String, Properties> clients;
  private final Map<String, Map<String, String>> known;
  private final Map<String, Admin> admins = new HashMap<>();

  private TopicIds(
      FileSystem files, Path checkpoint, Map<String, Properties> clients, Map<String, Map<String, String>> known) {
    this.files = files;
    this.checkpoint = checkpoint;
    this.clients = clients;
    this.known = known;
  }

  /**
   * Watches the topics of a checkpoint from its next batch on, and no longer those of an earlier call.
   *
   * @param conf the configuration of the checkpoint's file system
   * @param checkpoint the full path of the checkpoint
   * @param clients the properties of a Kafka client, by the source's name
   * @param ids the id of each topic, by the source's name and the topic's
   */
  public static void watch(
      Configuration conf, String checkpoint, Map<String, Properties> clients, Map<String, Map<String, String>> ids)
      throws IOException {
    Path path = new Path(checkpoint);
    FileSystem files = path.getFileSystem(conf);
    Map<String, Map<String, String>> known = new HashMap<>();
    ids.forEach((source, topics) -> known.put(source, new HashMap<>(topics)));
    Path qualified = files.makeQualified(path);
    close(WATCHED.put(qualified.toString(), new TopicIds(files, qualified, new HashMap<>(clients), known)));
  }

  /** Stops watching the topics of a checkpoint, if any are watched. */
  public static void forget(Configuration conf, String checkpoint) throws IOException {
    Path path = new Path(checkpoint);
    close(WATCHED.remove(path.getFileSystem(conf).makeQualified(path).toString()));
  }

  /** Writes the new ids, before Spark plans a batch of the checkpoint. */
  static void beforePlan(Path checkpoint) throws IOException {
    TopicIds watched = WATCHED.get(checkpoint.toString());
    if (watched != null) {
      watched.storeNewIds();
    }
  }

  private synchronized void storeNewIds() throws IOException {
    Map<String, Map<String, KafkaFuture<TopicDescription>>> requests = new HashMap<>();
    for (Map.Entry<String, Map<String, String>> source : known.entrySet()) {
      Admin admin = admins.computeIfAbsent(source.getKey(), name -> Admin.create(clients.get(name)));
      requests.put(source.getKey(), admin.describeTopics(source.getValue().keySet()).topicNameValues());
    }
    for (Map.Entry<String, Map<String, KafkaFuture<TopicDescription>>> source : requests.entrySet()) {
      for (Map.Entry<String, KafkaFuture<TopicDescription>> topic : source.getValue().entrySet()) {
        String id = id(topic.getValue());
        if (id != null && !id.equals(known.get(source.getKey()).get(topic.getKey()))) {
          Path folder = new Path(new Path(new Path(checkpoint, "topics"), source.getKey()), topic.getKey());
          files.create(new Path(folder, id), true).close();
          known.get(source.getKey()).put(topic.getKey(), id);
        }
      }
    }
  }

  /** The topic's id; null if the topic does not exist now, or its broker has no topic ids. */
  private static String id(KafkaFuture<TopicDescription> description) throws IOException {
    try {
      Uuid id = description.get().topicId();
      return Uuid.ZERO_UUID.equals(id) ? null : id.toString();
    } catch (ExecutionException error) {
      if (error.getCause() instanceof UnknownTopicOrPartitionException) {
        return null;
      }
      throw new IOException(error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(error.getMessage());
    }
  }

  private static void close(TopicIds watched) {
    if (watched != null) {
      synchronized (watched) {
        watched.admins.values().forEach(admin -> admin.close(CLOSING));
        watched.admins.clear();
      }
    }
  }
}
