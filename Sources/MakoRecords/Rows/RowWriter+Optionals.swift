// Optional values: `nil` is NULL.
extension RowWriter {
    /// Sets an integer or a reference, or NULL.
    public mutating func set(_ position: Int, _ number: Int64?) {
        if let number { set(position, number) } else { setNull(position) }
    }

    /// Sets an unsigned number, or NULL.
    public mutating func set(_ position: Int, _ number: UInt64?) {
        if let number { set(position, number) } else { setNull(position) }
    }

    /// Sets a double, or NULL.
    public mutating func set(_ position: Int, _ number: Double?) {
        if let number { set(position, number) } else { setNull(position) }
    }

    /// Sets a date, in seconds since 2001-01-01 UTC, or NULL.
    public mutating func setDate(_ position: Int, _ seconds: Double?) {
        if let seconds { setDate(position, seconds) } else { setNull(position) }
    }

    /// Sets a boolean, or NULL.
    public mutating func set(_ position: Int, _ flag: Bool?) {
        if let flag { set(position, flag) } else { setNull(position) }
    }

    /// Sets a text, or NULL.
    public mutating func set(_ position: Int, _ text: String?) {
        if let text { set(position, text) } else { setNull(position) }
    }

    /// Sets a blob or keys, or NULL.
    public mutating func set(_ position: Int, _ bytes: [UInt8]?) {
        if let bytes { set(position, bytes) } else { setNull(position) }
    }
}
