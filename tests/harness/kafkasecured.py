from pathlib import Path

from harness.kafka import Broker
from harness.pki import Authority, Pair
from harness.process import free_port


_PROPERTIES = """
listeners={plain},SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{tls}
advertised.listeners={advertised},SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{tls}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{plain_password}";
listener.name.ssl.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={keystore}
ssl.truststore.type=PEM
ssl.truststore.location={truststore}
"""


class SecuredBroker(Broker):
    """A broker with two more listeners: SASL (SCRAM-SHA-512, PLAIN) over TLS, and TLS that asks for a client's certificate.

    `bootstrap_servers` is the open one, for the helpers here.
    """

    user = "shop"
    password = 'hush "quoted" \\ ${env:HOME};'
    """The SCRAM password, with every character that needs quoting."""
    plain_password = "hush-plain"

    def __init__(self) -> None:
        super().__init__()
        authority = Authority(self.folder)
        self.authority: Pair = authority.pair
        self.client_pair: Pair = authority.issue("client")
        server = authority.issue("broker", hosts=["127.0.0.1", "localhost"])
        keystore = self.folder / "broker.pem"
        keystore.touch(mode=0o600)
        keystore.write_text(server.key.read_text() + server.certificate.read_text())
        sasl, tls = free_port(), free_port()
        self.sasl_servers, self.tls_servers = f"127.0.0.1:{sasl}", f"127.0.0.1:{tls}"
        self._secure(self.folder / "server.properties", sasl, tls, keystore)

    def start(self) -> None:
        """Start the broker, and make its user."""
        super().start()
        from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

        kind = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        admin = self.admin()
        wanted = UserScramCredentialUpsertion(self.user, kind, self.password.encode())
        admin.alter_user_scram_credentials([wanted])[self.user].result(timeout=30)

    def change_password(self, password: str) -> None:
        """Start again with another SCRAM password; the old one is refused, and every client has to connect again."""
        self.stop()
        self.password = password
        self.start()

    def _secure(self, config: Path, sasl: int, tls: int, keystore: Path) -> None:
        lines = dict(line.split("=", 1) for line in config.read_text().splitlines() if "=" in line)
        more = _PROPERTIES.format(
            plain=lines.pop("listeners"),
            advertised=lines.pop("advertised.listeners"),
            sasl=sasl,
            tls=tls,
            user=self.user,
            plain_password=self.plain_password,
            keystore=keystore,
            truststore=self.authority.certificate,
        )
        config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()) + more)
