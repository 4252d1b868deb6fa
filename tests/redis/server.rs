//! Servers of one's own: each test starts the `redis-server`s that it needs on free ports of the loopback
//! interface, and they end with it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A server that has not come up by then will not.
const PATIENCE: Duration = Duration::from_secs(20);

/// One `redis-server`, and the folder that it works in.
pub struct Server {
    child: Option<Child>,
    port: u16,
    folder: PathBuf,
    settings: Vec<String>,
    /// What its administrator says first.
    password: Option<String>,
}

impl Server {
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// With settings as they stand in its configuration file.
    pub fn with(settings: &[&str]) -> Self {
        let mut server = Self {
            child: None,
            port: 0,
            folder: folder(),
            settings: settings.iter().map(|&line| line.to_owned()).collect(),
            password: None,
        };
        for line in settings {
            if let Some(password) = line.strip_prefix("requirepass ") {
                server.password = Some(password.to_owned());
            }
        }
        // Somebody else may take the port between its choice and its use.
        for _ in 0..5 {
            server.port = free_port();
            if server.begin() {
                return server;
            }
        }
        panic!("redis-server does not start: {}", server.log());
    }

    fn begin(&mut self) -> bool {
        let mut lines = String::new();
        for line in &self.settings {
            let _ = writeln!(lines, "{line}");
        }
        let _ = write!(
            lines,
            "port {}\nbind 127.0.0.1\ndir {}\nlogfile {}\nsave \"\"\nappendonly no\n",
            self.port,
            self.folder.display(),
            self.folder.join("log").display(),
        );
        let file = self.folder.join("redis.conf");
        std::fs::write(&file, lines).expect("a configuration file");
        let child = Command::new("redis-server")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        self.child = Some(child);
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let child = self.child.as_mut().expect("it was just started");
            if child.try_wait().expect("its state").is_some() {
                return false;
            }
            if self.ask::<String>(&["PING"]).is_ok() {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        match &self.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}", self.port),
            None => format!("redis://127.0.0.1:{}", self.port),
        }
    }

    /// What an administrator asks of it, on a connection of its own.
    pub fn ask<T: redis::FromRedisValue>(&self, command: &[&str]) -> redis::RedisResult<T> {
        let client = redis::Client::open(self.url())?;
        let mut connection = client.get_connection_with_timeout(PATIENCE)?;
        let mut asked = redis::cmd(command[0]);
        asked.arg(&command[1..]);
        asked.query(&mut connection)
    }

    /// As `ask`, of what cannot fail.
    pub fn tell(&self, command: &[&str]) {
        let answer = self.ask::<redis::Value>(command);
        answer.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    }

    /// Kills it, as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again on the same port, empty.
    pub fn restart(&mut self) {
        self.kill();
        // The port may be the far end of somebody's outgoing connection for a moment.
        let began = Instant::now();
        while !self.begin() {
            assert!(began.elapsed() < PATIENCE, "no restart: {}", self.log());
        }
    }

    /// Stops it where it is: its connections stay, and nobody answers on them.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let Some(child) = &self.child else { return };
        let status = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", child.id())])
            .status();
        assert!(status.expect("a shell").success());
    }

    /// Everything under a prefix, with its time to live in milliseconds.
    pub fn keys(&self, prefix: &str) -> Vec<(Vec<u8>, i64)> {
        let client = redis::Client::open(self.url()).expect("an address");
        let mut connection = client.get_connection().expect("a connection");
        // Or a replica of a cluster would point to its master.
        let _ = redis::cmd("READONLY").exec(&mut connection);
        let mut found = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{prefix}*"));
            let (next, keys): (u64, Vec<Vec<u8>>) = scan.query(&mut connection).expect("a scan");
            for key in keys {
                let left = redis::cmd("PTTL").arg(&key).query(&mut connection);
                found.push((key, left.expect("a time to live")));
            }
            if next == 0 {
                return found;
            }
            cursor = next;
        }
    }

    /// No key of ours lives for ever, or nearly so.
    pub fn check_lifetimes(&self) {
        for (key, left) in self.keys("tollgate") {
            let key = String::from_utf8_lossy(&key).into_owned();
            // -2: it has gone in between.
            assert!(left != -1, "{key} has no time to live");
            assert!(left <= 2 * 32 * 86_400_000, "{key} lives for {left} ms");
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let alive = match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => false,
        };
        if alive && !thread::panicking() {
            self.thaw();
            self.check_lifetimes();
        }
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        // A cluster's servers talk to each other on a second port, 10,000 above.
        if port < 55_000 && TcpListener::bind((Ipv4Addr::LOCALHOST, port + 10_000)).is_ok() {
            return port;
        }
    }
}

fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let at = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tollgate-redis-{}-{at}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Waits until something holds that will, soon.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not yet: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
