//! A cluster of one's own: three masters, with replicas where they are needed.

use super::server::{Server, wait_until};
use std::time::Duration;
use tollgate::redis::Store;

pub struct Cluster {
    pub servers: Vec<Server>,
}

impl Cluster {
    pub fn start(replicas: bool) -> Self {
        let settings = [
            "cluster-enabled yes",
            "cluster-node-timeout 1000",
            "cluster-require-full-coverage no",
            // A replica that has seen nothing yet may stand for election.
            "cluster-replica-validity-factor 0",
            "repl-diskless-sync-delay 0",
        ];
        let count = if replicas { 6 } else { 3 };
        let servers: Vec<Server> = (0..count).map(|_| Server::with(&settings)).collect();
        let cluster = Self { servers };
        let ranges = [(0, 5_460), (5_461, 10_922), (10_923, 16_383)];
        for (server, (from, to)) in cluster.servers.iter().zip(ranges) {
            let slots: Vec<String> = (from..=to).map(|slot: u16| slot.to_string()).collect();
            let mut command = vec!["CLUSTER", "ADDSLOTS"];
            command.extend(slots.iter().map(String::as_str));
            server.tell(&command);
        }
        for (at, server) in cluster.servers.iter().enumerate() {
            // Epochs of their own, or they would have to settle it among themselves.
            server.tell(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]);
            let first = cluster.servers[0].port().to_string();
            server.tell(&["CLUSTER", "MEET", "127.0.0.1", &first]);
        }
        wait_until("all know all", || {
            cluster.servers.iter().all(|server| {
                let info: String = server.ask(&["CLUSTER", "INFO"]).unwrap_or_default();
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{count}"))
            })
        });
        for (at, replica) in cluster.servers.iter().enumerate().skip(3) {
            let master: String = cluster.servers[at - 3]
                .ask(&["CLUSTER", "MYID"])
                .expect("an id");
            wait_until("it follows", || {
                replica
                    .ask::<String>(&["CLUSTER", "REPLICATE", &master])
                    .is_ok()
            });
            wait_until("it has caught up", || {
                let info: String = replica.ask(&["INFO", "replication"]).unwrap_or_default();
                info.contains("master_link_status:up")
            });
        }
        if replicas {
            wait_until("all know the roles", || {
                cluster.servers.iter().all(|server| {
                    let nodes: String = server.ask(&["CLUSTER", "NODES"]).unwrap_or_default();
                    nodes.matches("slave").count() == 3
                })
            });
        }
        cluster
    }

    pub fn store(&self) -> Store {
        let urls: Vec<String> = self.servers[..3].iter().map(Server::url).collect();
        Store::open_cluster(urls)
            .expect("addresses")
            .with_slow(Duration::from_secs(5))
    }

    /// The server that has a key of ours, and the key's slot.
    pub fn home(&self) -> (usize, u16) {
        let found = (0..3).find_map(|at| {
            let keys = self.servers[at].keys("tollgate");
            keys.into_iter().next().map(|(key, _)| (at, key))
        });
        let (at, key) = found.expect("a key");
        let key = String::from_utf8(key).expect("a text");
        let slot = self.servers[at]
            .ask(&["CLUSTER", "KEYSLOT", &key])
            .expect("a slot");
        (at, slot)
    }
}
