//! Atomics and the map: std and papaya, or loom and a stand-in. The only loom in `src`.
//!
//! Loom replaces std only when this crate's own unit tests are built with the feature `loom`.
//! Integration tests, doctests, benches and dependents always get std and papaya, so the feature
//! stays additive.

pub(crate) use imp::*;

#[cfg(not(all(test, feature = "loom")))]
mod imp {
    pub(crate) use crossbeam_utils::Backoff;
    pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

    use papaya::{Equivalent, HashMap};
    use seize::Collector;
    use std::hash::{BuildHasher, Hash};

    /// How many removals of a thread are handed over for freeing at once. With 32, as the map has it
    /// by itself, a sweep of a million keys takes longer by a half.
    const BATCH: usize = 1_024;

    /// The turn of whoever writes a state, for others to wait for: the state itself says that it is
    /// being written.
    pub(crate) struct Turn;

    /// While it lives, the state is being written.
    pub(crate) struct Taken;

    impl Turn {
        pub(crate) fn new() -> Self {
            Self
        }

        #[inline]
        pub(crate) fn take(&self) -> Taken {
            Taken
        }

        #[inline]
        pub(crate) fn wait(&self, backoff: &Backoff) {
            backoff.snooze();
        }
    }

    /// The few map operations that the store relies on.
    pub(crate) struct Map<K, V, S>(HashMap<K, V, S>);

    /// Keeps what was read from the map alive.
    pub(crate) type Guard<'m> = papaya::LocalGuard<'m>;

    /// Lets go of all that was read under the guard.
    #[inline]
    pub(crate) fn renew(guard: &mut Guard<'_>) {
        papaya::Guard::refresh(guard);
    }

    /// A value in the map, alive as long as the guard.
    pub(crate) type Ref<'g, V> = &'g V;

    /// The value itself.
    #[inline]
    pub(crate) fn value<'a, V>(held: &'a Ref<'_, V>) -> &'a V {
        held
    }

    impl<K: Hash + Eq, V, S: BuildHasher> Map<K, V, S> {
        pub(crate) fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
            let map = HashMap::builder()
                .capacity(capacity)
                .hasher(hasher)
                .collector(Collector::new().batch_size(BATCH))
                .build();
            Self(map)
        }

        #[inline]
        pub(crate) fn guard(&self) -> Guard<'_> {
            self.0.guard()
        }

        #[inline]
        pub(crate) fn get<'g, Q>(&self, key: &Q, guard: &'g Guard<'_>) -> Option<Ref<'g, V>>
        where
            Q: Hash + Equivalent<K> + ?Sized,
            K: 'g,
        {
            self.0.get(key, guard)
        }

        /// The value, if `condition` holds of the key that is in the map.
        #[inline]
        pub(crate) fn get_if<'g, Q>(
            &self,
            key: &Q,
            condition: impl FnOnce(&K) -> bool,
            guard: &'g Guard<'_>,
        ) -> Option<Ref<'g, V>>
        where
            Q: Hash + Equivalent<K> + ?Sized,
            K: 'g,
        {
            let (key, value) = self.0.get_key_value(key, guard)?;
            condition(key).then_some(value)
        }

        /// What `read` makes of the key that is in the map.
        pub(crate) fn get_key<Q, R>(
            &self,
            key: &Q,
            read: impl FnOnce(&K) -> R,
            guard: &Guard<'_>,
        ) -> Option<R>
        where
            Q: Hash + Equivalent<K> + ?Sized,
        {
            self.0.get_key_value(key, guard).map(|(key, _)| read(key))
        }

        /// Inserts unless the key is there; returns what is there now, and whether it is ours.
        pub(crate) fn insert_if_absent<'g>(
            &self,
            key: K,
            value: V,
            guard: &'g Guard<'_>,
        ) -> (Ref<'g, V>, bool) {
            match self.0.try_insert(key, value, guard) {
                Ok(value) => (value, true),
                Err(occupied) => (occupied.current, false),
            }
        }

        /// Puts `value` in the place of what is there.
        pub(crate) fn replace(&self, key: K, value: V, guard: &Guard<'_>) {
            self.0.insert(key, value, guard);
        }

        /// Removes the key's value if `condition` holds of the two. If it was removed by this call,
        /// what `read` makes of the key.
        pub(crate) fn remove_if<Q, R>(
            &self,
            key: &Q,
            mut condition: impl FnMut(&K, &V) -> bool,
            read: impl FnOnce(&K) -> R,
            guard: &Guard<'_>,
        ) -> Option<R>
        where
            Q: Hash + Equivalent<K> + ?Sized,
        {
            match self.0.remove_if(key, &mut condition, guard) {
                Ok(Some((key, _))) => Some(read(key)),
                Ok(None) | Err(_) => None,
            }
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }

        pub(crate) fn reserve(&self, additional: usize, guard: &Guard<'_>) {
            self.0.reserve(additional, guard);
        }

        /// Hands over what this thread has removed, to be freed when no guard holds it.
        pub(crate) fn flush(&self, guard: &Guard<'_>) {
            papaya::Guard::flush(guard);
        }
    }
}

#[cfg(all(test, feature = "loom"))]
mod imp {
    pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};

    use loom::sync::Arc;
    use papaya::Equivalent;
    use std::hash::Hash;
    use std::marker::PhantomData;

    /// Papaya's contract, restated in types that loom can see.
    ///
    /// Every operation is one step under a lock. That gives loom what it cannot see inside papaya:
    /// a switch point before each operation, and the happens-before edge from inserting a value to
    /// reading it. A `Vec` keeps the order of iteration, and so the model, deterministic.
    ///
    /// Three habits of papaya are kept on purpose. A value stays readable after it is removed. A
    /// predicate runs outside the lock, so the value may change before it is removed. And a
    /// removal applies to the value that the predicate saw, never to its replacement.
    pub(crate) struct Map<K, V, S> {
        entries: Mutex<Vec<(Arc<K>, Arc<V>)>>,
        hasher: PhantomData<fn() -> S>,
    }

    /// Keeps nothing: values are counted references here.
    pub(crate) struct Guard<'m>(PhantomData<&'m ()>);

    pub(crate) fn renew(_: &mut Guard<'_>) {}

    /// A value that was in the map when it was looked up.
    pub(crate) type Ref<'g, V> = Held<'g, V>;

    pub(crate) struct Held<'g, V>(Arc<V>, PhantomData<&'g ()>);

    /// The value itself.
    pub(crate) fn value<'a, V>(held: &'a Ref<'_, V>) -> &'a V {
        held
    }

    impl<V> std::ops::Deref for Held<'_, V> {
        type Target = V;
        fn deref(&self) -> &V {
            &self.0
        }
    }

    impl<K: Hash + Eq, V, S> Map<K, V, S> {
        pub(crate) fn with_capacity_and_hasher(_: usize, _: S) -> Self {
            Self {
                entries: Mutex::new(Vec::new()),
                hasher: PhantomData,
            }
        }

        pub(crate) fn guard(&self) -> Guard<'_> {
            Guard(PhantomData)
        }

        fn find<Q: Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<(Arc<K>, Arc<V>)> {
            let entries = self.entries.lock().unwrap();
            entries.iter().find(|(k, _)| key.equivalent(k)).cloned()
        }

        pub(crate) fn get<'g, Q>(&self, key: &Q, _: &'g Guard<'_>) -> Option<Ref<'g, V>>
        where
            Q: Hash + Equivalent<K> + ?Sized,
            K: 'g,
        {
            self.find(key).map(|(_, value)| Held(value, PhantomData))
        }

        pub(crate) fn get_if<'g, Q>(
            &self,
            key: &Q,
            condition: impl FnOnce(&K) -> bool,
            _: &'g Guard<'_>,
        ) -> Option<Ref<'g, V>>
        where
            Q: Hash + Equivalent<K> + ?Sized,
            K: 'g,
        {
            let (key, value) = self.find(key)?;
            condition(&key).then_some(Held(value, PhantomData))
        }

        pub(crate) fn get_key<Q, R>(
            &self,
            key: &Q,
            read: impl FnOnce(&K) -> R,
            _: &Guard<'_>,
        ) -> Option<R>
        where
            Q: Hash + Equivalent<K> + ?Sized,
        {
            self.find(key).map(|(key, _)| read(&key))
        }

        pub(crate) fn insert_if_absent<'g>(
            &self,
            key: K,
            value: V,
            _: &'g Guard<'_>,
        ) -> (Ref<'g, V>, bool) {
            let mut entries = self.entries.lock().unwrap();
            if let Some((_, value)) = entries.iter().find(|(k, _)| **k == key) {
                return (Held(value.clone(), PhantomData), false);
            }
            let value = Arc::new(value);
            entries.push((Arc::new(key), value.clone()));
            (Held(value, PhantomData), true)
        }

        pub(crate) fn replace(&self, key: K, value: V, _: &Guard<'_>) {
            let mut entries = self.entries.lock().unwrap();
            match entries.iter_mut().find(|(k, _)| **k == key) {
                Some((_, old)) => *old = Arc::new(value),
                None => entries.push((Arc::new(key), Arc::new(value))),
            }
        }

        pub(crate) fn remove_if<Q, R>(
            &self,
            key: &Q,
            mut condition: impl FnMut(&K, &V) -> bool,
            read: impl FnOnce(&K) -> R,
            _: &Guard<'_>,
        ) -> Option<R>
        where
            Q: Hash + Equivalent<K> + ?Sized,
        {
            // Papaya asks again when the value was replaced meanwhile, until it has removed what
            // it asked about, or was told no.
            while let Some((key, seen)) = self.find(key) {
                if !condition(&key, &seen) {
                    return None;
                }
                let mut entries = self.entries.lock().unwrap();
                let before = entries.len();
                entries.retain(|(_, value)| !Arc::ptr_eq(value, &seen));
                if entries.len() < before {
                    return Some(read(&key));
                }
            }
            None
        }

        pub(crate) fn len(&self) -> usize {
            self.entries.lock().unwrap().len()
        }

        pub(crate) fn reserve(&self, _: usize, _: &Guard<'_>) {}

        pub(crate) fn flush(&self, _: &Guard<'_>) {}
    }

    /// The turn of whoever writes a state, for others to wait for.
    ///
    /// Under loom it is a lock. A thread that spins is one schedule more at each look, without end;
    /// one that is blocked is none. Who waited has seen all that the writer did, which the state
    /// might not promise; who did not wait has not, and there are schedules of both.
    pub(crate) struct Turn(Mutex<()>);

    impl Turn {
        pub(crate) fn new() -> Self {
            Self(Mutex::new(()))
        }

        pub(crate) fn take(&self) -> MutexGuard<'_, ()> {
            self.0.lock().unwrap()
        }

        pub(crate) fn wait(&self, _: &Backoff) {
            drop(self.take());
        }
    }

    /// Nothing: a pause is no schedule of its own, and whoever has to wait does so for a [`Turn`].
    pub(crate) struct Backoff;

    impl Backoff {
        pub(crate) fn new() -> Self {
            Self
        }

        /// After a lost exchange: somebody else has made progress, so nothing is waited for.
        pub(crate) fn spin(&self) {}
    }
}
