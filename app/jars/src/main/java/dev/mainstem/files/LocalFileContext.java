package dev.mainstem.files;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.local.LocalConfigKeys;

/** {@link LocalFiles} with checksums behind Hadoop's other interface, through which Spark writes checkpoints. */
public final class LocalFileContext extends ChecksumFs {

    /** The constructor that Hadoop calls, with the URI of any local file. */
    LocalFileContext(URI uri, Configuration conf) throws IOException, URISyntaxException {
        super(new Raw(conf));
    }

    /** What Hadoop's own class for this, which cannot be extended, adds. */
    private static final class Raw extends DelegateToFileSystem {
        Raw(Configuration conf) throws IOException, URISyntaxException {
            super(FsConstants.LOCAL_FS_URI, new LocalFiles(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1;
        }

        @Override
        public FsServerDefaults getServerDefaults(Path path) throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        @Deprecated
        public FsServerDefaults getServerDefaults() throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public boolean isValidName(String source) {
            return true;
        }
    }
}
