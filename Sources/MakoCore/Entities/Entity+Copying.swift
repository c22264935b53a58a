extension ObjectEntity {
    /// A new object with the same values and no row yet: committing it stores a second one. A text or UUID key is given anew at the commit;
    /// another key made of properties must be set before it.
    ///
    /// ```swift
    /// let next = lastInvoice.clone()
    /// next.date = .now
    /// try next.commit()
    /// ```
    public func clone() -> Self {
        let twin = type(of: self).init()
        ObjectLock(self).locked {
            twin.adoptValues(of: self)
            twin.forgetKey()
            // References that were not followed yet lead into the same database.
            twin._$state.database = _$state.database
        }
        return twin
    }

    /// A second object that stands for the same row, with the values this one has at the moment, committed or not.
    public func copy() -> Self {
        let twin = type(of: self).init()
        ObjectLock(self).locked {
            twin.adoptValues(of: self)
            twin._$state = _$state
            twin._$state.becomeCopy()
        }
        return twin
    }
}
