/// Work that ends with a database, of a module above: the follower of a replica.
package protocol DatabaseAttachment: AnyObject, Sendable {
    /// Ends the work. Called once, before the store closes.
    func end()
}
