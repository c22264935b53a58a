extension ObjectEntity {
    /// Returns a new object with the same values and without a row: committing it inserts a second row. A text or UUID
    /// key is generated at the commit; any other key of properties must be set before it.
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
            // Unloaded references refer to the same database.
            twin._$state.database = _$state.database
        }
        return twin
    }

    /// Returns a second object of the same row, with the current values of this one, committed or not.
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
