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
 * Keeps the ids of the topics that a stream reads, before each of its batches is planned.
 *
 * <p>A topic that is deleted and made again has another id. A driver that is killed after a batch has read the new topic
 * must find that id at its next start, or it would read the batch's records a second time. So an id that is new is
 * written below the checkpoint, as the empty file {@code topics/<source>/<topic>/<id>}, before the plan is.
 *
 * <p>{@code mainstem.runtime.supervision.renewals} names the topics of streams that go on where data was lost; all other streams end.
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
   * Watches the topics of one checkpoint from its next batch on, in place of those that were named before.
   *
   * @param conf finds the checkpoint's file system
   * @param checkpoint its full path
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

  /** Watches the topics of a checkpoint no longer; nothing where none are watched. */
  public static void forget(Configuration conf, String checkpoint) throws IOException {
    Path path = new Path(checkpoint);
    close(WATCHED.remove(path.getFileSystem(conf).makeQualified(path).toString()));
  }

  /** Writes the ids that are new, before a batch of the checkpoint is planned. */
  static void beforePlan(Path checkpoint) throws IOException {
    TopicIds watched = WATCHED.get(checkpoint.toString());
    if (watched != null) {
      watched.keep();
    }
  }

  private synchronized void keep() throws IOException {
    Map<String, Map<String, KafkaFuture<TopicDescription>>> asked = new HashMap<>();
    for (Map.Entry<String, Map<String, String>> source : known.entrySet()) {
      Admin admin = admins.computeIfAbsent(source.getKey(), name -> Admin.create(clients.get(name)));
      asked.put(source.getKey(), admin.describeTopics(source.getValue().keySet()).topicNameValues());
    }
    for (Map.Entry<String, Map<String, KafkaFuture<TopicDescription>>> source : asked.entrySet()) {
      for (Map.Entry<String, KafkaFuture<TopicDescription>> topic : source.getValue().entrySet()) {
        String id = id(topic.getValue());
        if (id != null && !id.equals(known.get(source.getKey()).get(topic.getKey()))) {
          Path kept = new Path(new Path(new Path(checkpoint, "topics"), source.getKey()), topic.getKey());
          files.create(new Path(kept, id), true).close();
          known.get(source.getKey()).put(topic.getKey(), id);
        }
      }
    }
  }

  /** The topic's id; null where there is no such topic at the moment, or its broker gives none. */
  private static String id(KafkaFuture<TopicDescription> asked) throws IOException {
    try {
      Uuid id = asked.get().topicId();
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
