//! A connection to the store that breaks in the ways in which connections break.

use socket2::{SockFilter, SockRef};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Weather {
    /// Everything passes.
    Fair,
    /// What comes is taken, and goes nowhere.
    Stall,
    /// Requests reach the store; answers do not come back, and the connection ends.
    LoseReply,
    /// The same, and the connection stays.
    SwallowReply,
    /// The store's side says that it has said everything, and no more.
    HalfClose,
    /// An answer comes that no store gives.
    Nonsense,
}

/// Between a client and a server.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    weather: AtomicU8,
    /// Requests, or pieces of them, that have reached the store.
    passed: AtomicU64,
    listener: TcpListener,
    streams: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let own = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared {
            weather: AtomicU8::new(Weather::Fair as u8),
            passed: AtomicU64::new(0),
            listener,
            streams: Mutex::default(),
        });
        let accepting = shared.clone();
        thread::spawn(move || {
            while let Ok((client, _)) = accepting.listener.accept() {
                let store = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                let Ok(store) = TcpStream::connect(store) else {
                    continue;
                };
                let _ = client.set_nodelay(true);
                let _ = store.set_nodelay(true);
                accepting.keep(&[&client, &store]);
                let (to, from) = (accepting.clone(), accepting.clone());
                let both = (client.try_clone(), store.try_clone());
                let (Ok(client_too), Ok(store_too)) = both else {
                    continue;
                };
                thread::spawn(move || to.requests(client, store));
                thread::spawn(move || from.answers(store_too, client_too));
            }
        });
        Self { port: own, shared }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn set(&self, weather: Weather) {
        self.shared.weather.store(weather as u8, Ordering::SeqCst);
    }

    /// How many pieces have reached the store.
    pub fn passed(&self) -> u64 {
        self.shared.passed.load(Ordering::SeqCst)
    }

    /// Ends all connections.
    pub fn cut(&self) {
        for stream in self.shared.streams.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// From here on the kernel drops all packets that come from clients, of open connections and of new
    /// ones: nobody is refused, nobody is answered.
    pub fn drop_packets(&self) {
        // BPF_RET with 0: keep no byte of the packet.
        let nothing = [SockFilter::new(6, 0, 0, 0)];
        let streams = self.shared.streams.lock().expect("no panic");
        for stream in streams.iter() {
            let _ = SockRef::from(stream).attach_filter(&nothing);
        }
        let listener = SockRef::from(&self.shared.listener);
        listener.attach_filter(&nothing).expect("a filter");
    }

    pub fn stop_dropping(&self) {
        let streams = self.shared.streams.lock().expect("no panic");
        for stream in streams.iter() {
            let _ = SockRef::from(stream).detach_filter();
        }
        SockRef::from(&self.shared.listener)
            .detach_filter()
            .expect("no filter");
    }
}

impl Shared {
    fn keep(&self, streams: &[&TcpStream]) {
        let mut kept = self.streams.lock().expect("no panic");
        kept.extend(streams.iter().filter_map(|stream| stream.try_clone().ok()));
    }

    fn is(&self, weather: Weather) -> bool {
        self.weather.load(Ordering::SeqCst) == weather as u8
    }

    fn requests(&self, mut client: TcpStream, mut store: TcpStream) {
        let mut bytes = [0; 64 * 1024];
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            if self.is(Weather::Stall) {
                continue;
            }
            if self.is(Weather::HalfClose) {
                let _ = client.shutdown(Shutdown::Write);
                continue;
            }
            if self.is(Weather::Nonsense) {
                let _ = client.write_all(b"*2\r\n$1\r\nx\r\n:1\r\n");
                continue;
            }
            if store.write_all(&bytes[..count]).is_err() {
                break;
            }
            self.passed.fetch_add(1, Ordering::SeqCst);
        }
        let _ = store.shutdown(Shutdown::Write);
    }

    fn answers(&self, mut store: TcpStream, mut client: TcpStream) {
        let mut bytes = [0; 64 * 1024];
        while let Ok(count @ 1..) = store.read(&mut bytes) {
            if self.is(Weather::LoseReply) {
                break;
            }
            if self.is(Weather::SwallowReply) {
                continue;
            }
            if client.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}
